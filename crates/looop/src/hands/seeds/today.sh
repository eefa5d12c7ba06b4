#!/bin/sh
# A sensor prints one JSON object. `signal` may wake the loop, `detail` may not.
# This one wakes it once a day.
# looop:interval=10m
# looop:trust=owner
printf '{"signal":{"day":"%s"},"detail":{"load":"%s"}}\n' "$(date +%F)" "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
