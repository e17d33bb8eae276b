//! Files that are only read: units, manifests, scripts, the container's recipe.

use super::{Command, Path, TempDir, deployed, fs, python, python_program, root, said_by};

/// What the units start, none of which is where tests run.
const STARTED: [&str; 3] = [
    "/usr/local/bin/spin",
    "/usr/bin/sqlite3",
    "/opt/reprise/deploy/tick.sh",
];

/// The most that systemd's own estimate of exposure may be, in tenths, from 0 to 100.
const EXPOSURE_MAX: &str = "20";

fn file_names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join("deploy").join(folder)).expect("it is a folder");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("it is UTF-8");
    entries
        .map(|entry| name(entry.expect("an entry")))
        .collect()
}

/// `systemd-analyze verify` finds nothing, and the services are as closed as they can be.
#[test]
fn the_units_are_sound() {
    let folder = TempDir::new().expect("there is room for a folder");
    let units = file_names("systemd");
    for unit in &units {
        let mut text = deployed(&format!("systemd/{unit}"));
        for program in STARTED {
            text = text.replace(program, "/bin/true");
        }
        fs::write(folder.path().join(unit), text).expect("the folder can be written to");
    }
    let analyze = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        said_by(command.args(arguments).current_dir(folder.path()))
    };
    let paths: Vec<String> = units.iter().map(|unit| format!("./{unit}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let said = analyze(&[&["verify", "--man=no"], &paths[..]].concat());
    assert_eq!(said, "");
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    for service in paths.iter().filter(|path| path.ends_with(".service")) {
        analyze(&[
            "security",
            "--no-pager",
            "--offline=true",
            &threshold,
            service,
        ]);
    }
}

/// Kubernetes' own kinds by its schemas, a `SpinApp` by the fields of its definition that are used here.
#[test]
fn the_manifests_are_sound() {
    let script = root().join("tools/e2e/python/manifests.py");
    let mut command = Command::new(python());
    said_by(command.arg(script).arg(root().join("deploy/kubernetes")));
}

#[test]
fn shellcheck_finds_nothing_in_any_script() {
    let scripts = ["deploy/tick.sh", "deploy/pack.sh", ".ci/run"];
    for name in file_names("") {
        let is_script = Path::new(&name).extension().is_some_and(|end| end == "sh");
        assert!(
            !is_script || scripts.contains(&&*format!("deploy/{name}")),
            "{name}"
        );
    }
    let mut command = python_program("shellcheck");
    said_by(command.args(scripts).current_dir(root()));
}

#[test]
fn hadolint_finds_nothing_in_the_recipe_of_the_container() {
    let mut command = python_program("hadolint");
    said_by(command.arg(root().join("deploy/container/Containerfile")));
}
