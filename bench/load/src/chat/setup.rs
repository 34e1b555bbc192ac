//! A gateway whose agents talk to a fake model.

use std::path::Path;

use tempfile::TempDir;
use toolway_fake_models::{Api, FakeModels, KEY, Model};

use crate::error::{During, Result};
use crate::gateway::{Gateway, Settings, data_folder};

/// A gateway and the model that its agents talk to.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) model: FakeModels,
}

impl Stage {
    /// Starts both. `connections` is how many the gateway is to hold.
    pub(crate) async fn start(settings: &Settings, connections: usize) -> Result<Self> {
        let model = FakeModels::start().await;
        model.offer(Model::usual());
        let folder = folder_with(&model)?;
        let gateway = Gateway::start_in(&settings.holding(connections), folder).await?;
        Ok(Self { gateway, model })
    }
}

/// A data folder that knows the model. No titles are made, which would be requests of their own.
fn folder_with(model: &FakeModels) -> Result<TempDir> {
    let folder = data_folder()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data).during("making the data folder")?;
    let key = folder.path().join("model.key");
    write(&key, KEY)?;
    let models = format!(
        "[[model]]\nname = \"fake\"\nkind = \"openai\"\nbase_url = \"{}\"\nkey = {{ file = \"{}\" }}\nmodel = \
         \"fake-model\"\n",
        model.base_url(Api::Openai),
        key.display(),
    );
    write(&data.join("models.toml"), &models)?;
    write(&data.join("toolway.toml"), "[chat]\ntitles = false\n")?;
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).during(format!("writing {}", path.display()))
}
