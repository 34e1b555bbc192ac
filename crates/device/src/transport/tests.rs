use super::*;
use tokio::net::TcpListener;

async fn here() -> (TcpListener, GatewayRoute) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    (listener, GatewayRoute { url, tls: None })
}

#[tokio::test]
async fn dialled_sockets_have_tcp_nodelay_r18() {
    let (_listener, route) = here().await;
    let (stream, key) = route.connect().await.unwrap();
    let GatewayStream::Plain(tcp) = stream else { panic!("it is plain") };
    assert!(tcp.nodelay().unwrap());
    assert_eq!(key, None);
}

#[tokio::test]
async fn read_buffers_are_small_and_frame_size_is_limited_separately_r22() {
    let (listener, route) = here().await;
    let server = tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        tokio_tungstenite::accept_async(tcp).await.unwrap()
    });
    let socket = upgrade::open(&route, &"token".into()).await.unwrap();
    let config = socket.get_config();
    assert_eq!(config.read_buffer_size, 4 << 10);
    assert!(config.write_buffer_size <= 16 << 10);
    assert_eq!((config.max_frame_size, config.max_message_size), (Some(16 << 20), Some(16 << 20)));
    drop(server.await.unwrap());
}

#[tokio::test]
async fn a_failed_connection_names_the_address() {
    let (listener, route) = here().await;
    drop(listener);
    let Err(error) = route.connect().await else { panic!("nobody listens") };
    assert!(error.to_string().starts_with(&format!("cannot connect to {}: ", route.url)), "{error}");
}
