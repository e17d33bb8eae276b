//! Where the service that a test starts has its store, and what is left of it when a host is killed.
//!
//! The same tests run on each arrangement of store and hosts: `REPRISE_E2E_STORE` names the one of a run. A test that is
//! about one store says so where it makes its state, with the reason; in a run on another one it ends there.

use crate::redis::Redis;
use rusqlite::{Connection, OpenFlags, params};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What names the arrangement of a run.
const VARIABLE: &str = "REPRISE_E2E_STORE";

/// The file of a SQLite store.
const FILE: &str = "sqlite_key_value.db";

/// The folder of a Redis.
const REDIS: &str = "redis";

/// Which store, and how many hosts use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// A file, and one host.
    Sqlite,
    /// A Redis of the test's own, and one host.
    Redis,
    /// A Redis of the test's own, and two hosts that are asked in turn.
    RedisTwo,
}

impl Arrangement {
    const ALL: [Self; 3] = [Self::Sqlite, Self::Redis, Self::RedisTwo];

    /// The one of this run: SQLite, unless the environment says otherwise.
    ///
    /// # Panics
    /// When the environment names none.
    #[must_use]
    pub fn of_this_run() -> Self {
        let Some(name) = env::var_os(VARIABLE) else {
            return Self::Sqlite;
        };
        let found = Self::ALL.into_iter().find(|one| name == one.name());
        found.unwrap_or_else(|| {
            let names = Self::ALL.map(Self::name);
            panic!("{VARIABLE} is {}, and not one of {names:?}", name.display())
        })
    }

    /// What it is called in the environment.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::RedisTwo => "redis-two",
        }
    }

    /// How many hosts there are.
    #[must_use]
    pub const fn hosts(self) -> usize {
        match self {
            Self::Sqlite | Self::Redis => 1,
            Self::RedisTwo => 2,
        }
    }

    const fn is_redis(self) -> bool {
        match self {
            Self::Sqlite => false,
            Self::Redis | Self::RedisTwo => true,
        }
    }
}

/// The store of a test, and a folder for its hosts. Both end with this value.
#[derive(Debug)]
pub struct State {
    // The server goes before the folder that it writes to.
    redis: Option<Redis>,
    folder: Folder,
    arrangement: Arrangement,
}

/// Where the files are.
#[derive(Debug)]
enum Folder {
    /// In a folder that ends with the state.
    Own(TempDir),
    /// In one that somebody else has made, and removes.
    Given(PathBuf),
}

impl State {
    /// A new store of this run's arrangement.
    ///
    /// # Panics
    /// When there is no room for a folder, or Redis does not come up.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a server that was started is nothing by default"
    )]
    pub fn new() -> Self {
        Self::on(Arrangement::of_this_run())
    }

    /// A new store of this arrangement, whatever the run's is.
    ///
    /// # Panics
    /// As [`State::new`].
    #[must_use]
    pub fn on(arrangement: Arrangement) -> Self {
        let folder = TempDir::new().expect("there is room for a folder");
        let redis = arrangement
            .is_redis()
            .then(|| Redis::start(&folder.path().join(REDIS)));
        Self {
            redis,
            folder: Folder::Own(folder),
            arrangement,
        }
    }

    /// A store in this folder, on SQLite: what is there already, and what stays there.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            redis: None,
            folder: Folder::Given(folder.to_owned()),
            arrangement: Arrangement::Sqlite,
        }
    }

    /// A new store, in a run on SQLite. `why` tells what makes this a test of that store alone.
    ///
    /// # Panics
    /// As [`State::new`], and when there is no reason.
    #[must_use]
    pub fn only_on_sqlite(why: &str) -> Option<Self> {
        Self::only(!Arrangement::of_this_run().is_redis(), why)
    }

    /// A new store, in a run on Redis. `why` tells what makes this a test of that store alone.
    ///
    /// # Panics
    /// As [`State::new`], and when there is no reason.
    #[must_use]
    pub fn only_on_redis(why: &str) -> Option<Self> {
        Self::only(Arrangement::of_this_run().is_redis(), why)
    }

    fn only(is_here: bool, why: &str) -> Option<Self> {
        assert!(why.contains(' '), "a reason is a sentence: {why:?}");
        if !is_here {
            let run = Arrangement::of_this_run().name();
            println!("Not in a run on {run}: {why}");
        }
        is_here.then(Self::new)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.folder {
            Folder::Own(folder) => folder.path(),
            Folder::Given(folder) => folder,
        }
    }

    /// Which store it is, and how many hosts use it.
    #[must_use]
    pub const fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// The state directory of the host of this number: on Redis each has its own, as on machines of their own.
    pub(crate) fn host_path(&self, number: usize) -> PathBuf {
        match self.arrangement {
            Arrangement::Sqlite => self.path().to_owned(),
            Arrangement::Redis | Arrangement::RedisTwo => {
                self.path().join(format!("host-{number}"))
            }
        }
    }

    /// The file of the store.
    ///
    /// # Panics
    /// When it is a Redis.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        assert!(!self.arrangement.is_redis(), "a Redis has no such file");
        self.path().join(FILE)
    }

    /// The Redis server, on a Redis.
    #[must_use]
    pub const fn redis(&self) -> Option<&Redis> {
        self.redis.as_ref()
    }

    /// The Redis server, on a Redis, to be killed and started again.
    #[must_use]
    pub const fn redis_mut(&mut self) -> Option<&mut Redis> {
        self.redis.as_mut()
    }

    /// Everything in the store: keys and values.
    ///
    /// # Panics
    /// When the store cannot be read.
    #[must_use]
    pub fn dump(&self) -> BTreeMap<String, Vec<u8>> {
        if let Some(redis) = &self.redis {
            return redis.dump();
        }
        let store = self.open();
        let mut rows = store
            .prepare("SELECT key, value FROM spin_key_value WHERE store = 'default'")
            .expect("the store's table");
        let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?)));
        let rows = rows.expect("the store's rows");
        rows.map(|row| row.expect("a key and a value")).collect()
    }

    /// The file, to be read.
    fn open(&self) -> Connection {
        let store = Connection::open_with_flags(self.file(), OpenFlags::SQLITE_OPEN_READ_ONLY);
        store.expect("the store's file")
    }

    /// How many keys there are whose names begin like this.
    ///
    /// # Panics
    /// As [`State::dump`].
    #[must_use]
    pub fn count_keys(&self, prefix: &str) -> usize {
        let keys = self.dump().into_keys();
        keys.filter(|key| key.starts_with(prefix)).count()
    }

    /// How many keys there are.
    ///
    /// # Panics
    /// As [`State::dump`].
    #[must_use]
    pub fn count(&self) -> usize {
        if let Some(redis) = &self.redis {
            let count = redis.command(&[b"DBSIZE"]).concat();
            let count = String::from_utf8(count).expect("a number is text");
            return count.parse().expect("a number");
        }
        let store = self.open();
        let count = "SELECT count(*) FROM spin_key_value WHERE store = 'default'";
        let count = store.query_row(count, (), |row| row.get::<_, i64>(0));
        usize::try_from(count.expect("the store's table")).expect("a count")
    }

    /// Whether these bytes are anywhere in what the store has written to its files.
    ///
    /// # Panics
    /// When the files cannot be read.
    #[must_use]
    pub fn holds(&self, bytes: &[u8]) -> bool {
        let redis = self.path().join(REDIS);
        let is_store = |path: &Path| match self.arrangement {
            Arrangement::Sqlite => path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(FILE)),
            Arrangement::Redis | Arrangement::RedisTwo => path.starts_with(&redis),
        };
        let files = files_below(self.path());
        files.iter().filter(|path| is_store(path)).any(|path| {
            let content = fs::read(path).expect("the store's file");
            content.windows(bytes.len()).any(|window| window == bytes)
        })
    }

    /// Puts a value under a key that is there, and gives the one that was.
    ///
    /// # Panics
    /// When there is none, or the store cannot be written to.
    pub fn spoil(&self, key: &str, value: &[u8]) -> Vec<u8> {
        let before = self.dump().remove(key);
        let before = before.unwrap_or_else(|| panic!("{key} is not there"));
        if let Some(redis) = &self.redis {
            redis.set(key, value);
            return before;
        }
        let store = Connection::open(self.file()).expect("the store's file");
        let write = "UPDATE spin_key_value SET value = ?2 WHERE store = 'default' AND key = ?1";
        let written = store.execute(write, params![key, value]);
        assert_eq!(written.expect("the file can be written to"), 1);
        before
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder that can be read");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let files = paths.flat_map(|path| {
        if path.is_dir() {
            files_below(&path)
        } else {
            vec![path]
        }
    });
    files.collect()
}
