//! What keeps the host from starting: each is an error that says what is wrong, and nothing on stdout.

use crate::harness::Application;

#[tokio::test]
async fn a_manifest_with_a_mistake_does_not_start() {
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
        let output = application.run(&[]);
        assert!(!output.status.success() && output.stdout.is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains(message) && error.contains("spin.toml"),
            "{error:?}, not {message:?}"
        );
    }
    let application = Application::new("");
    for (arguments, message) in [
        (&["--variable", "x"][..], "needs the form NAME=VALUE"),
        (
            &["--variable", "x=1"][..],
            "declares no variable of this name",
        ),
        (&["--redis", "http://x"][..], "--redis"),
        (
            &["--listen", "127.0.0.1:0", "--from", "/nowhere"][..],
            "error",
        ),
    ] {
        let output = application.run(arguments);
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{arguments:?}"
        );
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(message), "{error:?}, not {message:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_http_component_does_not_start() {
    let application = Application::with_manifest(
        "[[trigger.http]]\nroute = \"/...\"\ncomponent = \"x\"\n[component.x]\nsource = \"spin.toml\"\n",
    );
    let output = application.run(&[]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && error.contains("component.x: cannot compile"),
        "{error}"
    );
}
