//! What keeps the host from starting. Each is an error that says what is wrong.

use crate::harness::Application;

#[tokio::test]
async fn a_manifest_with_a_mistake_is_refused() {
    for (application, message) in [
        (
            Application::new("sqlite_databases = [\"default\"]"),
            "unknown field `sqlite_databases`",
        ),
        (
            Application::new("key_value_stores = [\"other\"]"),
            "component.guest: key_value_stores: \"other\"",
        ),
        (
            Application::with_manifest("[[trigger.http]]\nroute = \"/\"\ncomponent = \"x\""),
            "there is no component \"x\"",
        ),
        (
            Application::new("variables = { a = \"{{ b }}\" }"),
            "no variable \"b\" is declared",
        ),
    ] {
        let error = application.refusal(&[]).await;
        assert!(error.contains(message), "{error:?}, not {message:?}");
        assert!(
            error.contains("spin.toml"),
            "{error:?} does not name the file"
        );
    }
}

#[tokio::test]
async fn an_argument_with_a_mistake_is_refused() {
    let application = Application::new("");
    for (arguments, message) in [
        (["--variable", "x"], "needs the form NAME=VALUE"),
        (["--variable", "x=1"], "declares no variable of this name"),
        (["--redis", "http://x"], "error: --redis: "),
        (
            ["--listen", "localhost:3077"],
            "\"localhost:3077\" is not ADDRESS:PORT, such as 127.0.0.1:3077",
        ),
        (["--state-dir", "/dev/null/x"], "cannot create /dev/null/x"),
        (["--tick", "x"], "invalid value 'x' for '--tick <DURATION>'"),
        (
            ["--tick", "0s"],
            "--tick: the time between two ticks must not be zero",
        ),
        (
            ["--tick", "1s"],
            "--tick: the manifest declares no variable \"admin_token\"",
        ),
    ] {
        let error = application.refusal(&arguments).await;
        assert!(error.contains(message), "{error:?}, not {message:?}");
    }
}

#[tokio::test]
async fn a_taken_port_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = Application::new("").refusal(&["--listen", &address]).await;
    let expected = format!("{address} is taken, perhaps by another host; --listen takes another");
    assert!(error.contains(&expected), "{error}");
}

#[tokio::test]
async fn a_redis_with_tls_is_refused_with_the_file_that_names_it() {
    let application = Application::new("");
    let file = application.path().join("redis.toml");
    let text = "[key_value_store.default]\ntype = \"redis\"\nurl = \"rediss://host\"\n";
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let error = application.refusal(&["--runtime-config-file", &file]).await;
    let expected = format!("--runtime-config-file: {file}: key_value_store.default.url: ");
    assert!(error.contains(&expected), "{error}");
}

#[tokio::test]
async fn a_directory_without_a_manifest_is_refused() {
    let application = Application::new("");
    std::fs::remove_file(application.path().join("spin.toml")).unwrap();
    let error = application.refusal(&[]).await;
    assert!(
        error.contains("cannot read") && error.contains("spin.toml"),
        "{error}"
    );
}

#[tokio::test]
async fn a_file_that_is_no_http_component_is_refused() {
    let application = Application::with_manifest(
        "[[trigger.http]]\nroute = \"/...\"\ncomponent = \"x\"\n[component.x]\nsource = \"spin.toml\"\n",
    );
    let error = application.refusal(&[]).await;
    assert!(error.contains("component.x: cannot compile"), "{error}");
}
