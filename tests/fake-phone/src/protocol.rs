//! The device side of adb's protocol (`protocol.txt` and `adb.h` of the platform's `packages/modules/adb`):
//! version `0x01000001`, `shell,v2,raw:` with its own packets, and `exec:`.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;

use crate::fake_android::FakeAndroid;
use crate::shell::{self, CommandKiller};

const CNXN: u32 = 0x4e58_4e43;
const AUTH: u32 = 0x4854_5541;
const OPEN: u32 = 0x4e45_504f;
const OKAY: u32 = 0x5941_4b4f;
const WRTE: u32 = 0x4554_5257;
const CLSE: u32 = 0x4553_4c43;
/// The version from which checksums are ignored.
const VERSION: u32 = 0x0100_0001;
const MAX_DATA: u32 = 1 << 20;
/// Payload of one packet to the host.
const PIECE: usize = 32 << 10;

#[derive(Debug)]
struct AdbMessage {
    command: u32,
    first: u32,
    second: u32,
    data: Vec<u8>,
}

fn read(stream: &mut TcpStream) -> io::Result<AdbMessage> {
    let mut header = [0; 24];
    stream.read_exact(&mut header)?;
    let word = |at: usize| u32::from_le_bytes(header[at * 4..at * 4 + 4].try_into().unwrap());
    assert_eq!(word(5), !word(0), "a message's magic is its command's complement");
    assert!(word(3) <= MAX_DATA, "a message of {} bytes", word(3));
    let mut data = vec![0; usize::try_from(word(3)).unwrap()];
    stream.read_exact(&mut data)?;
    Ok(AdbMessage { command: word(0), first: word(1), second: word(2), data })
}

#[derive(Clone)]
struct AdbMessageWriter(Arc<Mutex<TcpStream>>);

impl AdbMessageWriter {
    fn send(&self, command: u32, first: u32, second: u32, data: &[u8]) -> io::Result<()> {
        let sum = data.iter().fold(0u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        let words = [command, first, second, u32::try_from(data.len()).unwrap(), sum, !command];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(data);
        self.0.lock().write_all(&bytes)
    }
}

/// A stream that the host opened.
struct AdbStream {
    /// Signals that the host has read a packet and may get another.
    taken: SyncSender<()>,
    killer: CommandKiller,
}

/// Serves one host until it disconnects.
pub(crate) fn serve(mut stream: TcpStream, android: &Arc<FakeAndroid>) {
    let writer = AdbMessageWriter(Arc::new(Mutex::new(stream.try_clone().unwrap())));
    let streams: Arc<Mutex<HashMap<u32, AdbStream>>> = Arc::default();
    let mut next = 1;
    while let Ok(message) = read(&mut stream) {
        match message.command {
            CNXN => {
                assert!(message.data.starts_with(b"host::"), "{:?}", String::from_utf8_lossy(&message.data));
                // A phone that does not know the host's key repeatedly asks for a signature.
                let sent = if android.is_authorized() {
                    let banner = format!(
                        "device::ro.product.name=fake;ro.product.model={};ro.product.device=fake;features=shell_v2,cmd",
                        android.model()
                    );
                    writer.send(CNXN, VERSION, MAX_DATA, banner.as_bytes())
                } else {
                    writer.send(AUTH, 1, 0, &[7; 20])
                };
                if sent.is_err() {
                    break;
                }
            }
            AUTH => {
                // The user has not allowed its key yet; the question is on the screen.
                if message.first == 2 && writer.send(AUTH, 1, 0, &[8; 20]).is_err() {
                    break;
                }
            }
            OPEN => {
                let service = String::from_utf8(message.data).unwrap();
                let service = service.trim_end_matches('\0').to_owned();
                let (host, local) = (message.first, next);
                next += 1;
                let Some(service) = ShellService::parse(&service) else {
                    let _ = writer.send(CLSE, 0, host, &[]);
                    continue;
                };
                let (taken, wait) = sync_channel(4);
                let killer = CommandKiller::default();
                streams.lock().insert(local, AdbStream { taken, killer: killer.clone() });
                if writer.send(OKAY, local, host, &[]).is_err() {
                    break;
                }
                let (writer, streams, android) = (writer.clone(), Arc::clone(&streams), Arc::clone(android));
                std::thread::spawn(move || {
                    let pipe = ShellPipe { writer, host, local, wait };
                    // If the host has disconnected, nobody reads any more.
                    let _ = pipe.run(&service, &killer, &android);
                    streams.lock().remove(&local);
                });
            }
            OKAY => {
                if let Some(stream) = streams.lock().get(&message.second) {
                    let _ = stream.taken.try_send(());
                }
            }
            // Standard input of a shell, which no command here reads.
            WRTE => {
                if writer.send(OKAY, message.second, message.first, &[]).is_err() {
                    break;
                }
            }
            CLSE => {
                if let Some(stream) = streams.lock().remove(&message.second) {
                    stream.killer.kill();
                }
            }
            other => panic!("an unknown message {other:#x}"),
        }
    }
    for (_, stream) in streams.lock().drain() {
        stream.killer.kill();
    }
}

/// Purpose of a stream.
#[derive(Debug)]
struct ShellService {
    command: String,
    /// True if output, errors and exit code are separate.
    is_v2: bool,
}

impl ShellService {
    fn parse(text: &str) -> Option<Self> {
        let (kind, command) = text.split_once(':')?;
        // Options in any order: `shell,v2,raw`, `shell,v2,TERM=xterm,raw`.
        let mut words = kind.split(',');
        let is_v2 = match words.next()? {
            "shell" => {
                let options: Vec<_> = words.collect();
                assert!(options.contains(&"v2") && options.contains(&"raw"), "only raw shells: {text:?}");
                true
            }
            "exec" => false,
            _ => return None,
        };
        Some(Self { command: command.to_owned(), is_v2 })
    }
}

struct ShellPipe {
    writer: AdbMessageWriter,
    host: u32,
    local: u32,
    wait: Receiver<()>,
}

impl ShellPipe {
    fn run(&self, service: &ShellService, killer: &CommandKiller, android: &FakeAndroid) -> io::Result<()> {
        let mut result = Ok(());
        let code =
            shell::run(&service.command, android.folder(), killer, service.is_v2, |is_error, bytes| {
                if result.is_err() {
                    return;
                }
                result = if service.is_v2 {
                    self.packet(if is_error { 2 } else { 1 }, bytes)
                } else {
                    self.write(bytes)
                };
            });
        result?;
        if service.is_v2 {
            self.packet(3, &[u8::try_from(code & 0xff).unwrap()])?;
        }
        self.writer.send(CLSE, self.local, self.host, &[])
    }

    /// Sends a packet of the shell protocol.
    fn packet(&self, id: u8, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        self.write(&[&[id], &length[..], bytes].concat())
    }

    /// Sends each piece after the host has read the previous one.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            self.writer.send(WRTE, self.local, self.host, piece)?;
            self.wait.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(())
    }
}
