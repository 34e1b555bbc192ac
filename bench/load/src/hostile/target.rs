//! The gateway under attack: its tokens, a device whose tool answers at once, and a model that never answers.

use std::path::Path;

use serde::Deserialize;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use super::attack::Attack;
use super::content::AttackContext;
use crate::connections::full_name;
use crate::device::{BenchDevice, BenchDeviceIdentity};
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::{BenchGateway, GatewayLaunchOptions, create_data_folder};
use crate::http::request;
use crate::tool_specs::app_frame;

/// A gateway that is ready for an attack.
pub(super) struct AttackTarget {
    gateway: BenchGateway,
    /// Address, tool and all tokens of the attackers' role.
    pub(super) context: AttackContext,
    /// Token of the bystander.
    pub(super) bystander_token: String,
    /// The gateway's limit for the memory of all peers, in bytes.
    pub(super) memory_budget: u64,
    // Aborted when dropped.
    _device: AbortOnDropHandle<String>,
    _model: AbortOnDropHandle<()>,
}

impl AttackTarget {
    /// Starts the gateway with what attacks of one role need.
    pub(super) async fn start(options: &GatewayLaunchOptions, attacks: &[&Attack]) -> Result<Self> {
        let (model, folder) = start_silent_model().await?;
        let connections = attacks.iter().map(|attack| attack.connections).max().unwrap_or(0);
        let gateway = BenchGateway::start_in(&options.with_connections(connections), folder).await?;
        let bystander_token = gateway.create_token("client", "bystander").await?;
        let device_token = gateway.create_token("device", "bystander's device").await?;
        let mut tokens = Vec::new();
        if let Some(role) = attacks.first().and_then(|attack| attack.role.token_role()) {
            for number in 0..attacks.iter().map(|attack| attack.tokens).max().unwrap_or(0) {
                tokens.push(gateway.create_token(role, &format!("attacker {number}")).await?);
            }
        }
        let identity = BenchDeviceIdentity { token: device_token, id: "bystander".to_owned() };
        let device = BenchDevice::join(&gateway.authority, &identity, app_frame(None).into()).await?;
        let context = AttackContext {
            authority: gateway.authority.clone(),
            tokens,
            tool: full_name(&device.source, 0),
        };
        Ok(Self {
            memory_budget: read_budget(&gateway).await?,
            gateway,
            context,
            bystander_token,
            _device: AbortOnDropHandle::new(tokio::spawn(device.serve())),
            _model: model,
        })
    }

    /// The context of an attack: the tokens that it uses.
    pub(super) fn context(&self, attack: &Attack) -> AttackContext {
        let mut context = self.context.clone();
        context.tokens.truncate(attack.tokens);
        context
    }

    /// The process id of the gateway.
    pub(super) fn pid(&self) -> u32 {
        self.gateway.pid()
    }

    /// The owner's token.
    pub(super) fn owner_token(&self) -> &str {
        &self.gateway.owner_token
    }

    /// Reads `/api/status` as the owner.
    pub(super) async fn read_status(&self) -> Result<String> {
        read_status(&self.gateway).await
    }

    /// Size of the gateway's log, in bytes.
    pub(super) fn log_bytes(&self) -> u64 {
        self.gateway.log_bytes()
    }

    /// Ends the gateway and removes its folder.
    pub(super) async fn stop(self) -> Result<()> {
        self.gateway.kill().await
    }
}

async fn read_budget(gateway: &BenchGateway) -> Result<u64> {
    #[derive(Deserialize)]
    struct MemoryStatus {
        memory_limit_bytes: u64,
    }
    let body = read_status(gateway).await?;
    Ok(serde_json::from_str::<MemoryStatus>(&body).context("reading /api/status")?.memory_limit_bytes)
}

async fn read_status(gateway: &BenchGateway) -> Result<String> {
    let owner = Some(gateway.owner_token.as_str());
    let (status, body) = request(&gateway.authority, "GET", "/api/status", owner, None).await?;
    if status != 200 {
        return unexpected(format!("GET /api/status answered {status}"));
    }
    Ok(body)
}

/// Starts a model that accepts requests and never answers, and creates a data folder that names it.
async fn start_silent_model() -> Result<(AbortOnDropHandle<()>, TempDir)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("listening as a model")?;
    let address = listener.local_addr().context("listening as a model")?;
    let model = tokio::spawn(async move {
        let mut open: Vec<TcpStream> = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
        }
    });
    let folder = create_data_folder()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data).context("making the data folder")?;
    let key = folder.path().join("model.key");
    write_file(&key, "key")?;
    let models = format!(
        "[[model]]\nname = \"silent\"\nkind = \"compatible\"\nbase_url = \"http://{address}/v1\"\n\
         key = {{ file = \"{}\" }}\nmodel = \"silent\"\n",
        key.display(),
    );
    write_file(&data.join("models.toml"), &models)?;
    Ok((AbortOnDropHandle::new(model), folder))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).context(format!("writing {}", path.display()))
}
