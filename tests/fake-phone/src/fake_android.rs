//! The running system: the installed apps, and a shell with Android's commands.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::android::{AndroidSystem, PhoneApp, PhoneSetup, ReceivedCall};
use crate::commands;
use crate::shell::ScriptFolder;

/// The system.
#[derive(Debug)]
pub(crate) struct FakeAndroid {
    folder: ScriptFolder,
    system: Arc<AndroidSystem>,
}

impl FakeAndroid {
    pub(crate) fn start(setup: PhoneSetup) -> Arc<Self> {
        let system = Arc::new(AndroidSystem {
            setup,
            apps: Mutex::default(),
            received_calls: Mutex::default(),
            opened_activities: Mutex::default(),
            installations: AtomicU32::new(0),
        });
        let commands = Arc::clone(&system);
        let folder = ScriptFolder::new(move |arguments| commands::run(arguments, &commands));
        Arc::new(Self { folder, system })
    }

    pub(crate) fn folder(&self) -> &ScriptFolder {
        &self.folder
    }

    pub(crate) fn model(&self) -> &'static str {
        commands::MODEL
    }

    pub(crate) fn is_authorized(&self) -> bool {
        self.system.setup.is_authorized
    }

    /// Each installation has its own folder with the unusual names that Android generates.
    pub(crate) fn install(&self, app: PhoneApp) {
        let number = self.system.installations.fetch_add(1, Ordering::SeqCst);
        let folder = self.folder.path().join(format!("app/~~{number:04}Ab==/{}-Cd{number}==", app.package));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("base.apk");
        fs::write(&path, &app.apk).unwrap();
        let path = path.to_str().unwrap().to_owned();
        self.system.apps.lock().insert(app.package.clone(), (app, path));
    }

    pub(crate) fn uninstall(&self, package: &str) {
        self.system.apps.lock().remove(package);
    }

    pub(crate) fn received_calls(&self) -> Vec<ReceivedCall> {
        self.system.received_calls.lock().clone()
    }

    pub(crate) fn opened_activities(&self) -> Vec<String> {
        self.system.opened_activities.lock().clone()
    }
}
