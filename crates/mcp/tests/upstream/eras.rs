//! Servers of both eras over HTTP: how they are found out, what comes through.

use serde_json::json;
use toolway_fake_mcp::{EXACT_RESULT, FakeMcp, FakeMcpOptions, exact_schema};
use toolway_mcp::upstream::{ProtocolEra, TransportKind};
use toolway_types::{Code, ContentPart, OriginalError};

use crate::harness::{TestRequestingClient, UpstreamHarness, call};

const VERSIONS: [&str; 4] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];

#[tokio::test]
async fn each_version_is_found_out_and_its_tools_are_called() {
    for version in VERSIONS {
        for json in [false, true] {
            let server =
                FakeMcp::start(FakeMcpOptions { json, ..FakeMcpOptions::with_versions(&[version]) }).await;
            let bench = UpstreamHarness::connected_at(server.url()).await;
            let status = bench.status("up");
            assert_eq!(status.protocol_version.as_deref(), Some(version));
            let era = if version == "2026-07-28" { ProtocolEra::Stateless } else { ProtocolEra::Handshake };
            assert_eq!((status.era, status.transport), (Some(era), Some(TransportKind::StreamableHttp)));
            assert_eq!(status.tools, bench.tools("up").len());
            assert!(status.tools > 10 && status.server_name.is_some(), "{status:?}");
            let output = bench.call("up__test_simple_text", "{}").await.unwrap();
            assert_eq!(output.content.len(), 1, "{version} {json}");
            let output = bench.call("up__test_image_content", "{}").await.unwrap();
            assert!(matches!(output.content[0], ContentPart::Image { .. }), "{version}");
        }
    }
}

#[tokio::test]
async fn the_newest_version_is_spoken_where_there_are_several() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    assert_eq!(bench.status("up").protocol_version.as_deref(), Some("2026-07-28"));
}

#[tokio::test]
async fn schemas_and_structured_results_come_through_byte_for_byte() {
    for version in ["2026-07-28", "2025-06-18"] {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let bench = UpstreamHarness::connected_at(server.url()).await;
        let snapshot = bench.registry.snapshot();
        let (_, source) = snapshot.sources().find(|(slug, _)| slug.as_str() == "up").unwrap();
        let mut compared = 0;
        for tool in source.tools().iter() {
            let document = tool.spec().document();
            let sent = exact_schema(&document.name);
            assert_eq!(document.parameters.as_ref().map(|raw| raw.get()), sent, "{}", document.name);
            compared += usize::from(sent.is_some());
        }
        assert!(compared > 10);
        let finished = bench.finish(call("up__test_exact", r#"{"zeta": 1.50}"#)).await;
        let output = crate::harness::call_result(&finished).unwrap();
        assert_eq!(output.structured.unwrap().get(), EXACT_RESULT);
        let original = finished.outcome.original_result().expect("the original is kept");
        assert!(original.get().contains(&format!(r#""structuredContent":{EXACT_RESULT}"#)), "{original:?}");
    }
}

#[tokio::test]
async fn an_upstream_tool_failure_is_a_failure_and_keeps_its_original_result_m13() {
    for version in ["2026-07-28", "2025-11-25"] {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let bench = UpstreamHarness::connected_at(server.url()).await;
        let finished = bench.finish(call("up__test_error_handling", "{}")).await;
        let error = crate::harness::call_result(&finished).unwrap_err();
        assert_eq!((error.code, error.dispatched), (Code::ToolFailed, true));
        assert!(finished.outcome.original_result().unwrap().get().contains(r#""isError":true"#));
        let error = bench.call("up__test_protocol_error", "{}").await.unwrap_err();
        assert_eq!((error.code, error.dispatched), (Code::ToolFailed, true), "{error:?}");
        assert!(error.message.contains("(MCP error -3"), "{}", error.message);
        let Some(OriginalError::JsonRpc(said)) = error.original.as_deref() else { panic!("{error:?}") };
        assert_eq!(error.message, format!("{} (MCP error {})", said.message, said.code));
    }
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let whole = FakeMcp::start(FakeMcpOptions::default()).await;
    let paged = FakeMcp::start(FakeMcpOptions { page_size: Some(3), ..FakeMcpOptions::default() }).await;
    let (whole, paged) =
        (UpstreamHarness::connected_at(whole.url()).await, UpstreamHarness::connected_at(paged.url()).await);
    assert_eq!(paged.tools("up"), whole.tools("up"));
}

#[tokio::test]
async fn progress_and_logs_reach_the_call_they_belong_to() {
    for version in ["2026-07-28", "2025-11-25"] {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let bench = UpstreamHarness::connected_at(server.url()).await;
        let reports = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
        let sink = std::sync::Arc::clone(&reports);
        let mut progressing = call("up__test_tool_with_progress", "{}");
        progressing.progress = Some(std::sync::Arc::new(move |report: toolway_core::ProgressReport| {
            sink.lock().push((report.progress, report.total));
        }));
        crate::harness::call_result(&bench.finish(progressing).await).unwrap();
        assert_eq!(
            *reports.lock(),
            [(0.0, Some(100.0)), (50.0, Some(100.0)), (100.0, Some(100.0))],
            "{version}"
        );

        let mut client =
            TestRequestingClient::with_capabilities(json!({}), Box::new(|_| Ok(Default::default())));
        client.meta.0.insert("io.modelcontextprotocol/logLevel".to_owned(), json!("info"));
        let client = std::sync::Arc::new(client);
        bench.call_as(&client, "up__test_tool_with_logging", "{}").await.unwrap();
        assert_eq!(client.logs.lock().len(), 3, "{version}");
    }
}

#[tokio::test]
async fn cancelling_a_call_reaches_the_server() {
    for (version, json) in [("2026-07-28", false), ("2025-11-25", false), ("2025-06-18", false)] {
        let server =
            FakeMcp::start(FakeMcpOptions { json, ..FakeMcpOptions::with_versions(&[version]) }).await;
        let bench = UpstreamHarness::connected_at(server.url()).await;
        let (begun, mut has_begun) = tokio::sync::watch::channel(false);
        let mut waiting = call("up__test_until_cancelled", "{}");
        let cancel = tokio_util::sync::CancellationToken::new();
        waiting.cancel = Some(cancel.clone());
        waiting.progress = Some(std::sync::Arc::new(move |_| {
            let _ = begun.send(true);
        }));
        let ended = async {
            has_begun.wait_for(|begun| *begun).await.unwrap();
            cancel.cancel();
        };
        let (finished, ()) = tokio::join!(bench.finish(waiting), ended);
        assert_eq!(crate::harness::call_result(&finished).unwrap_err().code, Code::Cancelled);
        // The server counts it when it has heard.
        let heard = async {
            loop {
                let output = bench.call("up__test_cancelled_count", "{}").await.unwrap();
                if output.joined_text().contains('1') {
                    return;
                }
            }
        };
        tokio::time::timeout(crate::harness::TIMEOUT, heard).await.expect(version);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_taken_up_again_where_it_was() {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2025-11-25"])).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    let output = bench.call("up__test_reconnection", "{}").await.unwrap();
    assert_eq!(output.joined_text(), "You came back.");
}
