// Restate's SDK is written for Node 22; this is all that it lacks on Node 20.

Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new this((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
};
