//! The host's side of the interfaces in `wit/`, generated.
//!
//! A call of `wasi:keyvalue` holds the instance exclusively until it returns (the guest's other requests wait for
//! it), as in Spin; the two `spin:` interfaces are asynchronous and do not.

#![expect(
    missing_docs,
    reason = "generated; the WIT files carry the documentation"
)]

wasmtime::component::bindgen!({
    path: "wit",
    world: "reprise:host/imports",
    imports: {
        // Making a stream can fail, which is a trap.
        "spin:key-value/key-value@3.0.0.[method]store.get-keys": trappable,
        default: async,
    },
    with: {
        "wasi:keyvalue/store.bucket": crate::kv::Bucket,
        "wasi:keyvalue/atomics.cas": crate::kv::CasHandle,
        "spin:key-value/key-value.store": crate::kv::Bucket,
    },
});
