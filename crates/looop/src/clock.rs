//! The clock: the one place that reads the time, the boot and the zone.

use std::sync::OnceLock;

use jiff::tz::TimeZone;
use looop_core::time::Now;
use rustix::time::{ClockId, clock_gettime};

/// The present moment.
pub fn now() -> Now {
    let wall = clock_gettime(ClockId::Realtime);
    Now {
        wall: wall.tv_sec.saturating_mul(1000).saturating_add(wall.tv_nsec / 1_000_000),
        up: up(),
        boot: boot(),
        zone: zone(),
    }
}

/// Milliseconds since boot, suspend included.
pub fn up() -> u64 {
    let up = clock_gettime(boot_clock());
    u64::try_from(up.tv_sec.saturating_mul(1000).saturating_add(up.tv_nsec / 1_000_000)).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn boot_clock() -> ClockId {
    ClockId::Boottime
}

#[cfg(not(target_os = "linux"))]
fn boot_clock() -> ClockId {
    ClockId::Monotonic
}

/// Which boot this is. Where that cannot be known every process is a boot of its own, and waits across processes fall
/// back to the wall clock.
fn boot() -> u32 {
    static BOOT: OnceLock<u32> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = std::fs::read("/proc/sys/kernel/random/boot_id")
            .unwrap_or_else(|_| std::process::id().to_le_bytes().into());
        let hash = blake3::hash(&text);
        let bytes = hash.as_bytes();
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    })
}

fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| direct_zone().unwrap_or_else(TimeZone::system)).clone()
}

/// The zone read straight from its file. The library's own way walks the whole zone database first, which costs more
/// system calls than all the rest of an idle beat.
fn direct_zone() -> Option<TimeZone> {
    let (name, path) = match std::env::var("TZ") {
        Ok(name) if name == "UTC" => return Some(TimeZone::UTC),
        Ok(name) if looop_core::model::name::is_name(&name.replace('/', "_")) && !name.contains("..") => {
            let path = format!("/usr/share/zoneinfo/{name}");
            (name, path)
        }
        Ok(_) => return None,
        Err(_) => ("Local".to_owned(), "/etc/localtime".to_owned()),
    };
    TimeZone::tzif(&name, &std::fs::read(path).ok()?).ok()
}

/// Sixteen random bytes, for the brief's boundaries.
pub fn secret() -> std::io::Result<[u8; 16]> {
    let mut secret = [0; 16];
    let mut filled = 0;
    while filled < secret.len() {
        filled += rustix::rand::getrandom(&mut secret[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(secret)
}
