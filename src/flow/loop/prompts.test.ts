import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLoopInput } from './loop-input.ts';
import { FIRST } from './loop-state.ts';
import { checkedBoxes, implementationPrompt, reviewPrompt, wholePrompt } from './prompts.ts';

test('a long prompt of a run is not kept with each phase, and each agent gets all of it', () => {
  for (const size of [10, 100_000]) {
    const words = `Count $& to ${'x'.repeat(size)}.`;
    const given = { workspace: 'main', agent: 'a', prompt: words };
    const { input } = readLoopInput(given);
    assert.ok(input !== undefined);
    for (const prompt of [implementationPrompt(input, FIRST), reviewPrompt(input, { ...FIRST, output: 'Done.' })]) {
      assert.ok(prompt.length < 3_000);
      const whole = wholePrompt(prompt, given);
      assert.ok(whole.includes(words) && !whole.includes('stands in its input'), whole.slice(0, 200));
    }
  }
});

test('boxes of a plan are counted as they are checked, in every kind of list', () => {
  const plan = '# Plan\r\n\r\n- [x] one\r\n  * [X] two\n\t+ [x] three\n12. [x] four\n1) [x]\tfive\n';
  assert.equal(checkedBoxes(plan), 5);
  assert.equal(checkedBoxes('- [ ] one\n-[x] two\n- [x]three\n[x] four\ntext - [x] five\n-\n[x] six\n'), 0);
});

test('a plan of any size is counted in one go', () => {
  const most = 1024 * 1024;
  const began = performance.now();
  for (const part of ['\n', '\r', '\u2028', ' ', '\t\n', '- \n', '- [', '1', '-  ', '- [x'])
    assert.equal(checkedBoxes(part.repeat(Math.floor(most / part.length))), 0, JSON.stringify(part));
  assert.ok(performance.now() - began < 2_000, `${performance.now() - began} ms`);
});
