use super::*;

#[test]
fn keeps_the_last_lines_and_cuts_long_ones() {
    let log = ServerLog::default();
    for number in 0..MAX_LINES + 3 {
        log.add(format!("line {number}").as_bytes());
    }
    let lines = log.lines();
    assert_eq!((lines.len(), lines[0].as_str()), (MAX_LINES, "line 3"));
    log.add(&[b'x'; 5000]);
    assert_eq!(log.lines().last().unwrap().len(), MAX_LINE_BYTES + '…'.len_utf8());
    assert_eq!(log.reason().unwrap().chars().count(), MAX_REASON_CHARS + 1);
}

#[test]
fn what_cannot_be_seen_is_escaped() {
    let log = ServerLog::default();
    log.add("\u{1b}[31mred\u{202e}\ttab \u{9f}\r\n".as_bytes());
    log.add(b"\xff\xfe");
    assert_eq!(log.lines(), ["\\u{1b}[31mred\\u{202e}\ttab \\u{9f}", "\u{fffd}\u{fffd}"]);
}

/// The reason in a log with these lines.
fn reason_of(lines: &str) -> Option<String> {
    let log = ServerLog::default();
    lines.lines().for_each(|line| log.add(line.as_bytes()));
    log.reason()
}

#[test]
fn the_reason_of_a_failure_is_no_frame_of_a_stack_trace() {
    let node = "node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v22.1.0";
    assert_eq!(reason_of(node).as_deref(), Some("Error: Cannot find module '/srv/index.js'"));
    let python = "starting
Traceback (most recent call last):
  File \"/srv/server.py\", line 3, in <module>
    main()
  File \"/srv/server.py\", line 2, in main
    raise RuntimeError(\"no database\")
RuntimeError: no database";
    assert_eq!(reason_of(python).as_deref(), Some("RuntimeError: no database"));
    let rust = "thread 'main' panicked at src/main.rs:3:5:
no database
stack backtrace:
   0: std::panicking::begin_panic
             at /rustc/abc/library/std/src/panicking.rs:689:5
   1: server::main
note: run with `RUST_BACKTRACE=full` for a verbose backtrace.";
    assert_eq!(reason_of(rust).as_deref(), Some("thread 'main' panicked at src/main.rs:3:5:"));
    let java = "Exception in thread \"main\" java.lang.IllegalStateException: no database
\tat com.example.Main.main(Main.java:5)
Caused by: java.io.IOException: refused
\t... 1 more";
    assert_eq!(reason_of(java).as_deref(), Some("Caused by: java.io.IOException: refused"));
    assert_eq!(reason_of("listening\nbye\n\n}\n").as_deref(), Some("bye"));
    assert_eq!(reason_of("  \n}\n"), None);
}
