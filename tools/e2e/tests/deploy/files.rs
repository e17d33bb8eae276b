//! Files that are only read: units, manifests, scripts, the container's recipe.

use super::{Command, Path, TempDir, deployed, fs, python, python_program, root, said_by};

/// What the units start, none of which is where tests run.
const STARTED: [&str; 4] = [
    "/usr/local/bin/reprise-host",
    "/usr/local/bin/spin",
    "/usr/bin/sqlite3",
    "/opt/reprise/deploy/tick.sh",
];

/// How the name of a file ends that goes beside a unit and changes it.
const ADDITION: &str = ".conf";

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
    let (units, additions): (Vec<_>, Vec<_>) = file_names("systemd")
        .into_iter()
        .partition(|name| !name.ends_with(ADDITION));
    check(&units, None);
    for addition in &additions {
        check(&units, Some(addition));
    }
}

/// Checks all units, perhaps with an addition to the one of the service itself.
fn check(units: &[String], addition: Option<&str>) {
    let folder = TempDir::new().expect("there is room for a folder");
    let place = |name: &str, folder: &Path| {
        let mut text = deployed(&format!("systemd/{name}"));
        for program in STARTED {
            text = text.replace(program, "/bin/true");
        }
        fs::write(folder.join(name), text).expect("the folder can be written to");
    };
    for unit in units {
        place(unit, folder.path());
    }
    if let Some(addition) = addition {
        let additions = folder.path().join("reprise.service.d");
        fs::create_dir(&additions).expect("the folder can be written to");
        place(addition, &additions);
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
