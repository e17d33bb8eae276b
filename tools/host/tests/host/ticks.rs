//! Ticks, by the host's program itself.

use crate::harness::{Application, Running, eventually};

/// The test component, with an operators' token that is empty at first.
fn application() -> Application {
    Application::with_manifest(
        "[variables]\nadmin_token = { default = \"\" }\n[[trigger.http]]\nroute = \"/...\"\ncomponent = \"guest\"\n\
         [component.guest]\nsource = GUEST\n",
    )
}

/// Waits until components have had this many requests; asking for the counts is none.
async fn requests(host: &Running, count: u64) {
    eventually(async || {
        let stats = host.json("/.host/stats").await;
        stats["requests"].as_u64().expect("the host counts") >= count
    })
    .await;
}

#[tokio::test]
async fn a_host_ticks_with_the_token_and_at_once_while_there_is_work_left() {
    let application = application();
    let arguments = ["--tick", "1h", "--variable", "admin_token=opens", "--stats"];
    let host = application.start(&arguments);
    // The third answer is the first that does not say that there is more.
    requests(&host, 3).await;
    let line = format!(
        "[guest] POST http://{}/-/tick by Bearer opens\n",
        host.address
    );
    application.logged(&line.repeat(3)).await;
    assert_eq!(application.log(), line.repeat(3));
}

#[tokio::test]
async fn a_host_ticks_at_its_pace_and_tells_trouble_once() {
    let application = application();
    let arguments = [
        "--tick",
        "10ms",
        "--variable",
        "admin_token=wrong",
        "--stats",
    ];
    let host = application.start(&arguments);
    requests(&host, 5).await;
    assert_eq!(application.log(), "tick: 400 Bad Request\n");
}

#[tokio::test]
async fn ticks_without_a_token_are_refused() {
    let application = application();
    for (arguments, message) in [
        (
            vec!["--tick", "1s"],
            "error: --tick: the variable admin_token is empty: set SPIN_VARIABLE_ADMIN_TOKEN, or --variable \
             admin_token=VALUE\n",
        ),
        (
            vec!["--tick", "1s", "--variable", "admin_token=a\nb"],
            "error: --tick: the variable admin_token does not fit into a header",
        ),
    ] {
        let error = application.refusal(&arguments).await;
        assert!(error.starts_with(message), "{error:?}, not {message:?}");
    }
}
