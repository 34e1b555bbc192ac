use std::net::SocketAddr;

use secrecy::ExposeSecret as _;

use super::*;

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n")
}

#[tokio::test]
async fn only_the_expected_redirect_ends_the_wait() {
    let (listener, address) = listener().await;
    let browser = async {
        // Browsers open connections that they never use.
        let idle = TcpStream::connect(address).await.unwrap();
        let mut statuses = Vec::new();
        for request in [
            get("/favicon.ico"),
            get("/callback"),
            get("/other?state=ours"),
            get("/callback?state=another&code=x"),
            "POST /callback?state=ours HTTP/1.1\r\n\r\n".to_owned(),
            "nonsense\r\n\r\n".to_owned(),
            get("/callback?code=x&state=ours"),
        ] {
            let answer = ask(address, &request).await;
            statuses.push(answer.split(' ').nth(1).unwrap().to_owned());
            assert!(answer.contains("cache-control: no-store"), "{answer}");
            assert!(!answer.contains("code=x"), "{answer}");
        }
        drop(idle);
        statuses
    };
    let is_answer = |query: &str| query.ends_with("state=ours");
    let (query, statuses) = tokio::join!(wait_for_callback(&listener, &is_answer), browser);
    assert_eq!(query.expose_secret(), "code=x&state=ours");
    assert_eq!(statuses, ["404", "404", "404", "400", "404", "404", "200"]);
}

#[tokio::test]
async fn a_request_that_is_too_long_is_rejected() {
    let (listener, address) = listener().await;
    let browser = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let long = format!("GET /callback?{} HTTP/1.1\r\n", "x".repeat(MAX_REQUEST));
        // The server may close the connection while this is written.
        let _ = stream.write_all(long.as_bytes()).await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
        ask(address, &get("/callback?state=ours")).await
    };
    let (query, answer) =
        tokio::join!(wait_for_callback(&listener, &|query: &str| query == "state=ours"), browser);
    assert_eq!(query.expose_secret(), "state=ours");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}
