//! The configuration of a lock holder, which a person may change at any time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use looop_core::engine::io::{Event, Request};

use super::driver::Driver;
use super::open::setup_of;
use crate::clock;
use crate::config::{self, Env, Loaded, Stamp};
use crate::hands::sandbox;

/// Where the configuration is read from.
pub(super) struct Source {
    data: PathBuf,
    env: Env,
    /// The files as they were when they were last read.
    stamp: Option<Stamp>,
}

impl Source {
    pub(super) fn new(data: &Path, env: &Env, stamp: Option<Stamp>) -> Self {
        Self { data: data.to_path_buf(), env: env.clone(), stamp }
    }
}

impl Driver {
    /// Takes over a changed configuration before a request is served with it: file events come later than the request of
    /// a person who has just saved the file.
    pub(super) fn refresh(&mut self, request: &Request) {
        // How the loop stands and its end depend on no configuration.
        if matches!(request, Request::Pulse { .. } | Request::Down { .. }) {
            return;
        }
        let now = Stamp::of(&self.source.data, &self.source.env, clock::now().wall);
        if !self.source.stamp.as_ref().is_some_and(|stamp| stamp.is_current(&now)) {
            self.reload();
        }
    }

    /// Takes over a changed configuration. A broken one is said, and the last good one is kept.
    pub(super) fn reload(&mut self) {
        let Source { data, env, stamp } = &mut self.source;
        *stamp = Some(Stamp::of(data, env, clock::now().wall));
        let loaded = config::load(data, env).map_err(|error| error.to_string());
        let loaded = loaded.and_then(|loaded| sandbox::check(&loaded.config).map(|()| loaded));
        match loaded {
            Ok(Loaded { config, .. }) if config != *self.config => {
                self.engine.configure(setup_of(&config));
                self.config = Arc::new(config);
            }
            Ok(_) => {}
            Err(error) => {
                self.warn(&format!("going on with the last good configuration: {error}"));
                return self.events.push_back(Event::Configured(Some(error)));
            }
        }
        self.events.push_back(Event::Configured(None));
    }
}
