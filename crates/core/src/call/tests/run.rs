//! Tests of runs that the tool itself ends.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::sleep;
use toolway_types::{Code, ErrorKind, SpecDocument, ToolError, ToolOutput};

use crate::testkit::{
    EngineHarness, ToolRunResult, answering_tool, assert_code, call, document, endless_tool, expect_error,
    inline_tool, scripted_tool, secs, success_text, tool,
};
use crate::{Arguments, CallContext, CallRequest, CancelReason, EngineSettings, Tool, ToolSpec};

#[tokio::test(start_paused = true)]
async fn an_error_of_the_tool_is_passed_on_unchanged() {
    let given = ToolError::new(Code::FileNotFound, "File not found: /x")
        .with_hint("Look elsewhere")
        .with_dispatched(true);
    let expected = given.clone();
    let world =
        EngineHarness::new(vec![tool(document("scan"), move |_, _| std::future::ready(Err(given.clone())))]);
    let finished = world.run("scan", "{}").await;
    assert_eq!(*expect_error(&finished), expected);
    assert_eq!(world.recorder.single_record().outcome, finished.outcome);
}

/// A tool that panics before it returns a future.
struct PanickingTool(Arc<ToolSpec>, bool);

impl Tool for PanickingTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn execute<'a, 'b, 'c>(
        &'a self,
        _: Arguments,
        _: &'b CallContext,
    ) -> Pin<Box<dyn Future<Output = ToolRunResult> + Send + 'c>>
    where
        'a: 'c,
        'b: 'c,
    {
        panic!("not even started")
    }

    fn can_run_inline(&self) -> bool {
        self.1
    }
}

fn make_tool<F, R>(only_waits: bool, document: SpecDocument, run: F) -> Arc<dyn Tool>
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolRunResult> + Send + 'static,
{
    if only_waits { inline_tool(document, run) } else { tool(document, run) }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_outcome() {
    struct PanicOnDrop;
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("while cleaning up")
        }
    }
    // In its own task, and inline.
    for only_waits in [false, true] {
        let at_once = PanickingTool(Arc::new(ToolSpec::compile(document("at_once")).unwrap()), only_waits);
        let world = EngineHarness::new(vec![
            make_tool(only_waits, document("text"), |_, _| async { panic!("out of paper") }),
            make_tool(only_waits, document("formatted"), |_, _| async { panic!("{} sheets left", 0) }),
            make_tool(only_waits, document("other"), |_, _| async { std::panic::panic_any(7) }),
            make_tool(only_waits, document("later"), |_, _| async {
                sleep(secs(2)).await;
                panic!("later")
            }),
            make_tool(only_waits, document("cleaning"), |_, _| async {
                let _guard = PanicOnDrop;
                Ok(ToolOutput::text("never seen"))
            }),
            Arc::new(at_once),
            answering_tool("fine", "fine"),
        ]);
        for (name, reason) in [
            ("text", "out of paper"),
            ("formatted", "0 sheets left"),
            ("other", "no reason is known"),
            ("later", "later"),
            ("cleaning", "while cleaning up"),
            ("at_once", "not even started"),
        ] {
            let finished = world.run(name, "{}").await;
            let crashed = expect_error(&finished);
            assert_eq!(
                (crashed.code, crashed.kind()),
                (Code::ToolPanicked, ErrorKind::ExecutionError),
                "{name}"
            );
            assert_eq!(crashed.message, format!("The tool crashed: {reason}"));
            assert!(crashed.dispatched && !crashed.retryable);
            assert_eq!(world.recorder.records_of(finished.id).len(), 1);
        }
        assert_eq!(success_text(&world.run("fine", "{}").await), "fine", "nothing else is disturbed");
        assert_eq!((world.engine.in_flight(), world.engine.abandoned_runs()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_size_of_an_output_is_limited() {
    let settings = EngineSettings { output_bytes: 100, ..EngineSettings::default() };
    let world = EngineHarness::with_settings(
        settings,
        vec![tool(document("write"), |arguments, _| async move {
            let bytes = arguments.value()["bytes"].as_u64().unwrap();
            Ok(ToolOutput::text("x".repeat(usize::try_from(bytes).unwrap())))
        })],
    );
    assert_eq!(success_text(&world.run("write", r#"{"bytes":100}"#).await).len(), 100);
    let finished = world.run("write", r#"{"bytes":101}"#).await;
    let too_large = expect_error(&finished);
    assert_eq!((too_large.code, too_large.kind()), (Code::OutputTooLarge, ErrorKind::ExecutionError));
    assert_eq!(too_large.message, "The tool returned 101 bytes; at most 100 are allowed");
    assert!(too_large.hint.as_deref().unwrap().contains("limits.output_bytes"));
    assert!(too_large.dispatched && !too_large.retryable);
}

#[tokio::test(start_paused = true)]
async fn a_tool_can_report_when_its_request_was_sent() {
    let mut queued = scripted_tool(document("queued"), |_, _| std::future::pending());
    queued.marks_dispatch = true;
    let mut sent_twice = scripted_tool(document("sent_twice"), |_, cx| async move {
        sleep(secs(1)).await;
        cx.mark_dispatched();
        sleep(secs(1)).await;
        cx.mark_dispatched();
        std::future::pending().await
    });
    sent_twice.marks_dispatch = true;
    let world =
        EngineHarness::new(vec![Arc::new(queued), Arc::new(sent_twice), endless_tool(document("plain"))]);
    for (name, dispatched, attempts) in [("queued", false, 0), ("sent_twice", true, 2), ("plain", true, 1)] {
        let finished = world.run(name, "{}").await;
        assert_code(&finished, Code::Timeout);
        assert_eq!(expect_error(&finished).dispatched, dispatched, "{name}");
        assert_eq!(world.recorder.records_of(finished.id)[0].attempts, attempts, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_inline_tool_is_dropped_at_its_deadline_and_when_its_caller_leaves() {
    struct DropReasonRecorder(Arc<Mutex<Vec<Option<CancelReason>>>>, CallContext);
    impl Drop for DropReasonRecorder {
        fn drop(&mut self) {
            self.0.lock().push(self.1.cancel_reason());
        }
    }
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let told = seen.clone();
    let world = EngineHarness::new(vec![inline_tool(document("waits"), move |_, cx| {
        let gone = DropReasonRecorder(told.clone(), cx);
        async move {
            let _gone = gone;
            std::future::pending().await
        }
    })]);
    let late = world.engine.call(CallRequest { timeout: Some(secs(2)), ..call("waits", "{}") }).await;
    assert_code(&late, Code::Timeout);
    let gave_up = tokio::time::timeout(secs(1), world.engine.call(call("waits", "{}"))).await;
    assert!(gave_up.is_err());
    assert_eq!(*seen.lock(), [Some(CancelReason::Deadline), Some(CancelReason::Caller)]);
    assert_eq!((world.engine.in_flight(), world.engine.abandoned_runs()), (0, 0));
    world.recorder.assert_each_closed_once();
}
