//! The store on a Redis server, as Spin has it when its runtime configuration says so.
//!
//! The faults are Spin's too, and come from how it asks:
//!
//! - a swap always answers cas-failed, also when it wrote: after the transaction it sends `UNWATCH` with an argument,
//!   which Redis refuses, and that refusal is what the guest is told;
//! - a lost transaction (nil instead of an array) is no error to the driver; nothing but that refusal reports it;
//! - `get_many` sends `KEYS`: more than one key is a syntax error, and one is a pattern whose matches make the driver
//!   panic, and with it the guest's requests;
//! - a counter is decimal text, and all stores share one key space;
//! - a connection that cannot be made is tried for again for about eight minutes, in steps of one, sixty, sixty, …
//!   seconds, before the call that needs it fails.
//!
//! Every conditional write has a connection of its own, because a `WATCH` belongs to one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redis::aio::ConnectionManager;
use redis::{AsyncCommands as _, Client, RedisResult};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::time::timeout;

use super::{Cas, KeyStream, ResultSize, Store, StoreError, Stores, SwapError};

/// How long a server may take to answer a check: less than somebody who watches the start has patience for.
const CHECK_PATIENCE: Duration = Duration::from_secs(3);

/// How many key names wait to be read by a guest.
const KEY_STREAM_BUFFER: usize = 4;

/// All stores on one server.
pub struct RedisStores {
    client: Client,
    connection: OnceCell<ConnectionManager>,
}

/// The server, under whatever name it was opened.
struct RedisStore {
    client: Client,
    connection: ConnectionManager,
}

/// One conditional write, on its own connection.
struct RedisCas {
    key: String,
    connection: ConnectionManager,
}

impl RedisStores {
    /// The server at `url`, connected to on first use. Fails on an address that is not a Redis URL.
    pub fn new(url: &str) -> RedisResult<Self> {
        Ok(Self {
            client: Client::open(url)?,
            connection: OnceCell::new(),
        })
    }
}

/// Asks the server at `url` once whether it is there and lets us in. The error names its address, never the password.
pub async fn check(url: &str) -> Result<(), String> {
    let client = Client::open(url).map_err(|error| error.to_string())?;
    let address = client.get_connection_info().addr.to_string();
    let asking = async {
        let mut connection = client.get_multiplexed_async_connection().await?;
        connection.ping().await
    };
    let answer: RedisResult<()> = timeout(CHECK_PATIENCE, asking)
        .await
        .map_err(|_| format!("{address}: no answer within {CHECK_PATIENCE:?}"))?;
    answer.map_err(|error| format!("{address}: {error}"))
}

#[async_trait]
impl Stores for RedisStores {
    async fn open(&self, _name: &str) -> Result<Arc<dyn Store>, StoreError> {
        let connect = || self.client.get_connection_manager();
        let mut connection = self
            .connection
            .get_or_try_init(connect)
            .await
            .map_err(StoreError::from_driver)?
            .clone();
        // Only to make a manager whose connection has broken notice it and connect again; the answer is not asked for.
        let _: RedisResult<()> = connection.ping().await;
        Ok(Arc::new(RedisStore {
            client: self.client.clone(),
            connection,
        }))
    }
}

impl RedisStore {
    fn connection(&self) -> ConnectionManager {
        self.connection.clone()
    }
}

#[async_trait]
impl Store for RedisStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        ResultSize::check_value(
            self.connection()
                .get(key)
                .await
                .map_err(StoreError::from_driver)?,
        )
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.connection()
            .set(key, value)
            .await
            .map_err(StoreError::from_driver)
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.connection()
            .del(key)
            .await
            .map_err(StoreError::from_driver)
    }

    async fn exists(&self, key: &str) -> Result<bool, StoreError> {
        self.connection()
            .exists(key)
            .await
            .map_err(StoreError::from_driver)
    }

    async fn keys(&self) -> Result<Vec<String>, StoreError> {
        let keys: Vec<String> = self
            .connection()
            .keys("*")
            .await
            .map_err(StoreError::from_driver)?;
        let mut size = ResultSize::new(size_of::<Vec<String>>());
        for key in &keys {
            size.add(size_of::<String>() + key.len())?;
        }
        Ok(keys)
    }

    async fn stream_keys(&self) -> KeyStream {
        let (sender, keys) = mpsc::channel(KEY_STREAM_BUFFER);
        let (end_sender, end) = oneshot::channel();
        let connection = self.connection();
        tokio::spawn(async move {
            // A guest that stopped listening needs no answer.
            let _ = end_sender.send(send_keys(connection, sender).await);
        });
        KeyStream { keys, end }
    }

    async fn get_many(
        &self,
        keys: Vec<String>,
    ) -> Result<Vec<(String, Option<Vec<u8>>)>, StoreError> {
        let found: Vec<(String, Option<Vec<u8>>)> = self
            .connection()
            .keys(keys)
            .await
            .map_err(StoreError::from_driver)?;
        let mut size = ResultSize::new(size_of::<Vec<(String, Option<Vec<u8>>)>>());
        for (key, value) in &found {
            let bytes = key.len() + value.as_ref().map_or(0, Vec::len);
            size.add(size_of::<(String, Option<Vec<u8>>)>() + bytes)?;
        }
        Ok(found)
    }

    async fn set_many(&self, pairs: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        self.connection()
            .mset(&pairs)
            .await
            .map_err(StoreError::from_driver)
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.connection()
            .del(keys)
            .await
            .map_err(StoreError::from_driver)
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.connection()
            .incr(key, delta)
            .await
            .map_err(StoreError::from_driver)
    }

    async fn compare_and_swap(&self, key: &str) -> Result<Arc<dyn Cas>, StoreError> {
        let connection = self
            .client
            .get_connection_manager()
            .await
            .map_err(StoreError::from_driver)?;
        Ok(Arc::new(RedisCas {
            key: key.to_owned(),
            connection,
        }))
    }
}

/// Sends all key names as a scan finds them.
async fn send_keys(
    mut connection: ConnectionManager,
    sender: mpsc::Sender<String>,
) -> Result<(), StoreError> {
    let mut scan = connection
        .scan::<String>()
        .await
        .map_err(StoreError::from_driver)?;
    while let Some(key) = scan.next_item().await {
        sender.send(key).await.map_err(StoreError::from_driver)?;
    }
    Ok(())
}

#[async_trait]
impl Cas for RedisCas {
    async fn current(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let mut connection = self.connection.clone();
        redis::cmd("WATCH")
            .arg(&self.key)
            .exec_async(&mut connection)
            .await
            .map_err(StoreError::from_driver)?;
        ResultSize::check_value(
            connection
                .get(&self.key)
                .await
                .map_err(StoreError::from_driver)?,
        )
    }

    async fn swap(&self, value: Vec<u8>) -> Result<(), SwapError> {
        let mut connection = self.connection.clone();
        let written: RedisResult<()> = redis::pipe()
            .atomic()
            .set(&self.key, value)
            .query_async(&mut connection)
            .await;
        // `UNWATCH` takes no argument, so this fails on any server, and the swap with it.
        let unwatched = redis::cmd("UNWATCH")
            .arg(&self.key)
            .exec_async(&mut connection)
            .await;
        unwatched.and(written).map_err(|_| SwapError::CasFailed)
    }
}
