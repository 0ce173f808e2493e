// SPDX-License-Identifier: Apache-2.0
// A timer of 50 ms, eight times, and a file that is written and read in between.
const fs = require('fs');
const name = process.argv[2];
let left = 8, sum = 0;
function tick() {
  fs.writeFileSync(name, 'x'.repeat(10000));
  sum += fs.readFileSync(name).length;
  if (--left) setTimeout(tick, 50);
  else console.log(sum);
}
setTimeout(tick, 50);
