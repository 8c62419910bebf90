import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexOf, type KeyResult, reduceKey } from './key-reducer.ts';
import type { Key } from './keys.ts';
import { listsOf } from './lists.ts';
import { FIRST, type State } from './state.ts';
import { testEvent, testModel, testQueue, testWorker } from './test-model.ts';
import type { TopViewModel } from './view-model.ts';

/** Presses one key after the other on the same screen. */
function after(
  keys: readonly Key[],
  from: State = FIRST,
  model: TopViewModel = testModel(),
  furthest = 100,
): KeyResult {
  let pressed: KeyResult = { state: from };
  for (const key of keys) {
    const lists = listsOf(model, pressed.state.filter);
    pressed = reduceKey(pressed.state, key, { lists, page: 10, furthest });
  }
  return pressed;
}

const chosenIn = (state: State, model = testModel()): number =>
  indexOf(state, state.panel, listsOf(model, state.filter)[state.panel]);

test('a digit or Tab chooses the panel in focus, around both ends', () => {
  assert.equal(after(['3']).state.panel, 'tasks');
  assert.equal(after(['tab']).state.panel, 'workers');
  assert.equal(after(['backtab']).state.panel, 'events');
  assert.equal(after(['5', 'tab']).state.panel, 'queues');
  assert.equal(after(['6']).state.panel, 'queues');
  assert.equal(after(['0']).state.panel, 'queues');
});

test('rows are moved through and never left', () => {
  assert.equal(chosenIn(after(['3', 'j']).state), 1);
  assert.equal(chosenIn(after(['3', 'down', 'down', 'down', 'down']).state), 2);
  assert.equal(chosenIn(after(['3', 'G', 'k']).state), 1);
  assert.equal(chosenIn(after(['3', 'pagedown', 'home', 'up']).state), 0);
});

test('the chosen row stays chosen when the list moves; when it is gone, the one in its place is', () => {
  const { state } = after(['j']);
  const moved = testModel({ queues: [testQueue('a'), testQueue('b'), testQueue('mail')] });
  assert.equal(chosenIn(state, moved), 2);
  assert.equal(chosenIn(state, testModel({ queues: [testQueue('a'), testQueue('b'), testQueue('c')] })), 1);
  assert.equal(chosenIn(state, testModel({ queues: [] })), -1);
});

test('of events the newest one is chosen, until somebody moves up and again when they come back', () => {
  const more = testModel({ events: [1, 2, 3, 4].map((seq) => testEvent(seq)) });
  const followed = after(['5']).state;
  assert.equal(chosenIn(followed), 2);
  assert.equal(chosenIn(followed, more), 3);
  const held = after(['k'], followed).state;
  assert.equal(chosenIn(held), 1);
  assert.equal(chosenIn(held, more), 1);
  assert.equal(chosenIn(after(['j'], held).state, more), 3);
});

test('Enter opens what is chosen, of an event its task or its worker; Esc goes back', () => {
  assert.deepEqual(after(['j', 'enter']).state.open, { panel: 'queues', name: 'mail', part: 'page', scroll: 0 });
  assert.deepEqual(after(['3', 'enter']).state.open, { panel: 'tasks', name: 'task_2', part: 'log', scroll: 0 });
  assert.equal(after(['5', 'enter']).state.open?.panel, 'workers');
  assert.equal(after(['5', 'k', 'enter']).state.open?.name, 'task_2');
  assert.equal(after(['4', 'enter', 'escape']).state.open, undefined);
  assert.equal(after(['4', 'enter'], FIRST, testModel({ limits: [] })).state.open, undefined);
});

test('a page is scrolled from its top, a log from its end, neither beyond', () => {
  assert.equal(after(['enter', 'j', 'j', 'k']).state.open?.scroll, 1);
  assert.equal(after(['enter', 'k']).state.open?.scroll, 0);
  assert.equal(after(['enter', 'G'], FIRST, testModel(), 7).state.open?.scroll, 7);
  assert.equal(after(['3', 'enter', 'k', 'k']).state.open?.scroll, 2);
  assert.equal(after(['3', 'enter', 'k', 'k', 'G']).state.open?.scroll, 0);
  assert.equal(after(['3', 'enter', 'g'], FIRST, testModel(), 7).state.open?.scroll, 7);
  assert.deepEqual(after(['3', 'enter', 'k', 'tab']).state.open, {
    panel: 'tasks',
    name: 'task_2',
    part: 'page',
    scroll: 0,
  });
});

test('nothing is changed without a yes', () => {
  const asked = after(['p']);
  assert.equal(asked.intent, undefined);
  assert.match(asked.state.asked?.text ?? '', /Pause queue papers\?/);
  for (const key of ['n', 'escape', 'enter', 'p', 'q']) {
    const refused = after(['p', key]);
    assert.equal(refused.intent, undefined, key);
    assert.equal(refused.state.mode, 'browse');
    assert.equal(refused.state.asked, undefined);
    assert.match(refused.state.status?.text ?? '', /Nothing was changed/);
  }
});

test('a yes pauses or resumes the queue, cancels the task, drains or enables the worker', () => {
  const act = (keys: readonly Key[], model?: TopViewModel) => after([...keys, 'y'], FIRST, model).intent;
  assert.deepEqual(act(['p']), { kind: 'act', act: { kind: 'pause', queue: 'papers' } });
  assert.deepEqual(act(['j', 'p']), { kind: 'act', act: { kind: 'resume', queue: 'mail' } });
  assert.deepEqual(act(['3', 'j', 'c']), { kind: 'act', act: { kind: 'cancel', task: 'task_1' } });
  assert.deepEqual(act(['5', 'k', 'enter', 'c']), { kind: 'act', act: { kind: 'cancel', task: 'task_2' } });
  assert.deepEqual(act(['2', 'd']), { kind: 'act', act: { kind: 'drain', worker: 'gpu-1' } });
  const off = testModel({ workers: [testWorker('laptop', { enabled: false })] });
  assert.deepEqual(act(['2', 'd'], off), { kind: 'act', act: { kind: 'enable', worker: 'laptop' } });
});

test('what is answered is what was asked, whatever has moved meanwhile', () => {
  const { state } = after(['p']);
  const moved = testModel({ queues: [testQueue('other'), testQueue('papers')] });
  assert.deepEqual(after(['y'], state, moved).intent, { kind: 'act', act: { kind: 'pause', queue: 'papers' } });
});

test('a key that fits another panel says which, and asks nothing', () => {
  for (const [keys, panel] of [
    [['c'], 3],
    [['d'], 2],
    [['3', 'p'], 1],
    [['3', 'enter', 'd'], 2],
  ] as const) {
    const { state } = after(keys);
    assert.equal(state.mode, 'browse');
    assert.match(state.status?.text ?? '', new RegExp(`panel ${panel}`));
  }
});

test('while a filter is typed, keys are letters; Enter keeps it, Esc clears it', () => {
  const typed = after(['/', 'q', 'p', 'x', 'backspace', '1']).state;
  assert.equal(typed.filter, 'qp1');
  assert.equal(typed.mode, 'filter');
  assert.equal(after(['enter'], typed).state.mode, 'browse');
  assert.equal(after(['enter'], typed).state.filter, 'qp1');
  assert.equal(after(['escape'], typed).state.filter, '');
  assert.equal(after(['enter', 'escape'], typed).state.filter, '');
  assert.equal(after(['up', 'tab'], typed).state.filter, 'qp1');
  assert.equal(after(['/', ...Array<Key>(500).fill('x')]).state.filter.length, 60);
});

test('q quits where keys are commands, Ctrl-C everywhere', () => {
  assert.deepEqual(after(['q']).intent, { kind: 'quit' });
  assert.deepEqual(after(['enter', 'q']).intent, { kind: 'quit' });
  assert.equal(after(['/', 'q']).intent, undefined);
  for (const keys of [[], ['/'], ['p'], ['?'], ['enter']])
    assert.deepEqual(after([...keys, 'ctrl-c']).intent, { kind: 'quit' });
});

test('? shows the keys, and any key goes back', () => {
  assert.equal(after(['?']).state.mode, 'keys');
  const back = after(['?', 'q']);
  assert.equal(back.state.mode, 'browse');
  assert.equal(back.intent, undefined);
});

test('what was said last is gone with the next key', () => {
  const said: State = { ...FIRST, status: { tone: 'good', text: 'Done.' } };
  assert.equal(after(['j'], said).state.status, undefined);
});

test('a name that others wrote is shown in a question without what a terminal would act on', () => {
  const model = testModel({ queues: [testQueue('a\u001b[2J\u202eb')] });
  assert.match(after(['p'], FIRST, model).state.asked?.text ?? '', /^Pause queue ab\?/);
});
