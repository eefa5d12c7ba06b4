#!/usr/bin/env python3
"""What one decide sends: through the API, through each preset, and by the plain call of each agent on the same brief.

Everything talks to the scripted model server of the tests, on loopback, with a scratch HOME.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "../crates/looop/tests/fixtures/model/server.py")
AGENTS = os.environ.get("LOOOP_TEST_AGENTS") or os.path.join(HERE, "../target/agents")

# An agent's scenario as a decider, and its plain call with the brief on standard input or as a file.
PLAIN = {
    "claude": ("write", "claude -p --output-format stream-json --verbose --dangerously-skip-permissions < {brief}"),
    "codex": ("write", "codex exec --json --skip-git-repo-check -s read-only - < {brief}"),
    "opencode": ("text", "opencode run --format json < {brief}"),
    "pi": ("text", "pi -p --mode json @{brief}"),
    "gemini": ("text", "gemini --yolo --skip-trust --output-format stream-json < {brief}"),
}
VARIABLES = {
    "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1", "FAKE_KEY": "x",
    "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_PURE": "1",
    "npm_config_offline": "true", "PI_OFFLINE": "1", "GEMINI_API_KEY": "x", "OPENAI_API_KEY": "x",
}
PROVIDERS = {"anthropic": ("", "claude-opus-5-5"), "openai": ("/v1", "gpt-5")}


def settings(url):
    """The agents' own settings by their path below HOME."""
    cost = {"input": 4, "output": 20}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": f"{url}/v1", "apiKey": "x"}}
    provider["models"] = {"fake-model": {"name": "Fake", "cost": cost}}
    opencode = {"model": "fake/fake-model", "small_model": "fake/fake-model", "provider": {"fake": provider}}
    models = [{"id": "fake-model", "name": "Fake", "cost": cost | {"cacheRead": 4, "cacheWrite": 4}}]
    pi = {"baseUrl": f"{url}/v1", "apiKey": "x", "api": "openai-completions", "models": models}
    codex = f'model = "fake-model"\nmodel_provider = "fake"\n[model_providers.fake]\nname = "Fake"\nbase_url = "{url}/v1"\n'
    codex += 'env_key = "FAKE_KEY"\nwire_api = "responses"\n[features]\nplugins = false\napps = false\n'
    gemini = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    return {
        ".config/opencode/opencode.json": json.dumps(opencode),
        ".pi/agent/models.json": json.dumps({"providers": {"fake": pi}}),
        ".pi/agent/settings.json": json.dumps({"defaultProvider": "fake", "defaultModel": "fake-model"}),
        ".codex/config.toml": codex,
        ".gemini/settings.json": json.dumps(gemini),
    }


class Place:
    """A scratch folder with a server in one scenario and a HOME that knows of it."""

    def __init__(self, root, scenario, looop):
        self.root, self.looop = tempfile.mkdtemp(dir=root), looop
        self.log = os.path.join(self.root, "log")
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.server = subprocess.Popen([sys.executable, SERVER, self.log], **pipes)
        self.url = f"http://127.0.0.1:{int(self.server.stdout.readline())}/s/{scenario}"
        for path, text in settings(self.url).items():
            path = os.path.join(self.root, "home", path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        self.data = os.path.join(self.root, "data")
        os.mkdir(self.data, 0o700)
        # A profile with a PLAYBOOK of its own is not filled with examples.
        with open(os.path.join(self.data, "PLAYBOOK.md"), "w") as file:
            file.write("# PLAYBOOK\nBe careful.\n")
        path = f"{AGENTS}/node_modules/.bin:{os.environ['PATH']}"
        self.env = VARIABLES | {"HOME": f"{self.root}/home", "PATH": path, "LOOOP_DATA_DIR": self.data, "LANG": "C.UTF-8"}
        self.env |= {"ANTHROPIC_BASE_URL": self.url, "GOOGLE_GEMINI_BASE_URL": self.url}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stdin.close()
        self.server.wait()

    def run(self, command, folder):
        os.makedirs(folder, exist_ok=True)
        quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["bash", "-c", command], env=self.env, cwd=folder, timeout=300, **quiet)

    def beat(self):
        """One beat; the brief that it made."""
        self.run(f"'{self.looop}' beat", self.root)
        return os.path.join(self.data, "runs/000001/prompt.md")

    def sent(self):
        """How many requests there were, and their bytes."""
        path = os.path.join(self.log, "requests.jsonl")
        lines = open(path).read().splitlines() if os.path.exists(path) else []
        return len(lines), sum(json.loads(line)["bytes"] for line in lines)


def row(name, brief, sent):
    size, (requests, count) = os.path.getsize(brief), sent
    print(f"{name:<24} {requests:>8} {size:>8} {count:>8} {count - size:>8}  {count / size:.2f}", flush=True)


def by_api(root, looop, provider):
    with Place(root, "write", looop) as place:
        end, model = PROVIDERS[provider]
        api = f'{{ provider = "{provider}", base_url = "{place.url}{end}", model = "{model}", key_env = "FAKE_KEY" }}'
        with open(os.path.join(place.data, "config.toml"), "w") as file:
            file.write(f'default = "m"\n[runners.m]\napi = {api}\n')
        row(f"api {provider}", place.beat(), place.sent())


def by_agent(root, looop, agent):
    scenario, plain = PLAIN[agent]
    with Place(root, scenario, looop) as place:
        place.run(f"'{looop}' init --runner {agent}", place.root)
        brief = place.beat()
        row(f"{agent} preset", brief, place.sent())
        with Place(root, "text", looop) as other:
            other.run(plain.format(brief=f"'{brief}'"), f"{other.root}/work")
            row(f"{agent} plain", brief, other.sent())


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--looop", default=os.path.join(HERE, "../target/release/looop"))
    looop = os.path.abspath(options.parse_args().looop)
    root = tempfile.mkdtemp(prefix="looop-bytes-")
    try:
        print(f"{'decide':<24} {'requests':>8} {'brief':>8} {'bytes':>8} {'beyond':>8}  times the brief")
        for provider in PROVIDERS:
            by_api(root, looop, provider)
        for agent in PLAIN:
            if os.path.exists(f"{AGENTS}/node_modules/.bin/{agent}"):
                by_agent(root, looop, agent)
            else:
                print(f"{agent:<24} is not installed")
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
