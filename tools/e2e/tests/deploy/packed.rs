//! `deploy/pack.sh`: its folder is an application, without the sandbox and without secrets that everybody knows.

use super::{Command, Path, TempDir, fs, root, said_by};
use reprise_e2e::{Host, Options, Sent, State, Upstream};

/// A secret as Standard Webhooks writes it.
const SECRET: &str = "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0";

fn pack(into: &Path) {
    let component = reprise_e2e::component();
    let mut script = Command::new("sh");
    script
        .arg(root().join("deploy/pack.sh"))
        .arg(into)
        .arg(component);
    said_by(&mut script);
}

#[test]
fn what_is_packed_serves_and_has_no_sandbox() {
    let folder = TempDir::new().expect("there is room for a folder");
    let packed = folder.path().join("packed");
    pack(&packed);
    let upstream = Upstream::start(|_, _| Sent::new(201, &[], b"charged"));
    let options = Options::default()
        .from(&packed)
        .variable("payment_api_url", &upstream.url())
        .variable("webhook_secret", SECRET);
    let state = folder.path().join("state");
    fs::create_dir(&state).expect("the folder can be written to");
    let host = Host::start(&State::at(&state), &options);
    let client = host.client();
    assert_eq!(client.get("/payment-sandbox/").status, 404);
    assert_eq!(client.get("/-/openapi.yaml").status, 200);
    assert_eq!(
        client
            .post("/orders", Some("k"), r#"{"product_id":42,"quantity":1}"#)
            .status,
        201
    );
    let charge = client.post("/charge", Some("k"), "{}");
    assert_eq!((charge.status, charge.body.as_str()), (201, "charged"));
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn what_is_packed_does_not_start_with_what_is_for_trying_out() {
    let folder = TempDir::new().expect("there is room for a folder");
    let packed = folder.path().join("packed");
    pack(&packed);
    for missing in ["payment_api_url", "webhook_secret"] {
        let given = [
            ("payment_api_url", "http://127.0.0.1:9"),
            ("webhook_secret", SECRET),
        ];
        let mut host = Command::new(reprise_e2e::host_program());
        host.arg("--from")
            .arg(&packed)
            .args(["--listen", "127.0.0.1:0", "--state-dir"]);
        host.arg(folder.path());
        for (name, value) in given.iter().filter(|(name, _)| *name != missing) {
            host.arg("--variable").arg(format!("{name}={value}"));
        }
        let output = host.output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(missing), "{said}");
    }
}

/// How the script ends with these arguments, and what it says.
fn refused(arguments: &[&Path]) -> (Option<i32>, String) {
    let mut script = Command::new("sh");
    script.arg(root().join("deploy/pack.sh")).args(arguments);
    let output = script.output().expect("a shell is here");
    let said = String::from_utf8(output.stderr).expect("it is text");
    (output.status.code(), said)
}

#[test]
fn a_folder_that_is_there_is_left_alone() {
    let folder = TempDir::new().expect("there is room for a folder");
    let (code, said) = refused(&[folder.path()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("is there already") && !said.contains(".spin"),
        "{said}"
    );
    assert!(
        fs::read_dir(folder.path())
            .expect("it is there")
            .next()
            .is_none()
    );
}

/// The refusal must not invite anybody to remove a store.
#[test]
fn a_folder_with_a_store_in_it_is_told() {
    let folder = TempDir::new().expect("there is room for a folder");
    fs::create_dir(folder.path().join(".spin")).expect("the folder can be written to");
    let (code, said) = refused(&[folder.path()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("do not remove it: the store with every key"),
        "{said}"
    );
}

#[test]
fn other_arguments_are_told_the_usage() {
    let one = Path::new("a");
    for arguments in [&[][..], &[one, one, one]] {
        let usage = "usage: deploy/pack.sh DIR [COMPONENT]\n".to_owned();
        assert_eq!(refused(arguments), (Some(2), usage), "{arguments:?}");
    }
}
