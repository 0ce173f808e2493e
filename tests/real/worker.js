// SPDX-License-Identifier: Apache-2.0
// A worker computes; the main thread waits for its message.
const { Worker, isMainThread, parentPort } = require('worker_threads');
function mixAll(n) {
  let x = 1;
  for (let i = 0; i < n; i++) x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d) + i | 0;
  return x;
}
if (isMainThread) {
  new Worker(__filename).on('message', (x) => console.log(x));
} else {
  parentPort.postMessage(mixAll(300000000));
}
