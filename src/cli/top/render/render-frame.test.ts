import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters as plain, styleText } from 'node:util';
import type { LogLineView } from '../../../operate/views.ts';
import type { Paint } from '../../display/out.ts';
import { listsOf, PANELS } from '../lists.ts';
import { FIRST, type Open, type State } from '../state.ts';
import { NOW, testEvent, testLimit, testModel, testQueue, testTask, testWorker } from '../test-model.ts';
import type { TopViewModel } from '../view-model.ts';
import { type FrameInput, renderFrame } from './render-frame.ts';
import { styledWidth } from './styled-text.ts';

const bare: Paint = (_format, text) => text;
const coloured: Paint = (format, text) =>
  styleText(format as Parameters<typeof styleText>[0], text, { validateStream: false });

function frameInput(more: Partial<FrameInput> = {}): FrameInput {
  const { model = testModel(), state = FIRST } = more;
  return {
    state,
    model,
    lists: listsOf(model, state.filter),
    detail: undefined,
    away: undefined,
    size: { columns: 120, rows: 36 },
    paint: bare,
    colours: false,
    now: NOW,
    ...more,
  };
}

const text = (more: Partial<FrameInput> = {}): string => renderFrame(frameInput(more)).lines.join('\n');
const at = (columns: number, rows: number): Partial<FrameInput> => ({ size: { columns, rows } });

/** Much of everything, with names of any length and kind. */
function crowd(): TopViewModel {
  const many = <T>(one: (i: number) => T): readonly T[] => Array.from({ length: 60 }, (_, i) => one(i));
  const name = (i: number): string =>
    ['q'.repeat(i), '日本語'.repeat(i), `a\u001b[2J\u202e\r\n\u0007${i}`, 'שלום'][i % 4] || 'x';
  // A newer node may have other words for a state and a kind.
  return testModel({
    overview: { sentence: `A sentence\u001b[2J that ${'goes on and '.repeat(30)}` },
    queues: many((i) => testQueue(`${name(i)}${i}`, { ready: i * 1e6, paused: i % 3 === 0 })),
    workers: many((i) =>
      testWorker(`${name(i)}${i}`, { slots: i, running: i, state: ['lost', 'online', 'odd'][i % 3] as 'lost' }),
    ),
    tasks: many((i) => testTask(`task_${i}`, { queue: name(i), handler: name(i + 1), worker: name(i + 2) })),
    limits: many((i) => testLimit(`${name(i)}${i}`, { active: i })),
    events: many((i) => testEvent(i, { queue: name(i), kind: name(i + 2) as 'beat' })),
  });
}

const STATES_TO_DRAW: readonly State[] = [
  ...PANELS.map((panel): State => ({ ...FIRST, panel })),
  { ...FIRST, mode: 'keys' },
  { ...FIRST, mode: 'filter', filter: 'q\u001b[2J' },
  { ...FIRST, filter: 'no such thing' },
  { ...FIRST, mode: 'ask', asked: { text: `Pause queue ${'x'.repeat(40)}?`, act: { kind: 'pause', queue: 'x' } } },
  { ...FIRST, status: { tone: 'bad', text: 'This\u001b[2J is not allowed.\nForged' } },
  ...(['page', 'log'] as const).map(
    (part): State => ({ ...FIRST, open: { panel: 'tasks', name: 'task\u001b[2J_1', part, scroll: 3 } }),
  ),
];

const EVIL = 'a\u001b]52;c;eA==\u0007b\u009b2Jc\u202ee\rf\tg';
const log: readonly LogLineView[] = Array.from({ length: 90 }, (_, i) => ({
  attempt: 1,
  seq: i,
  at: NOW,
  stream: 'stdout',
  text: `${i} ${EVIL}${'z'.repeat(i * 5)}`,
}));
const detail = { page: () => Array.from({ length: 50 }, (_, i) => `  line ${i} ${'word '.repeat(i)}`), log };

test('whatever is shown, a frame has as many lines as the terminal and none is wider', () => {
  for (const model of [testModel(), crowd(), testModel({ queues: [], workers: [], tasks: [], limits: [], events: [] })])
    for (const [columns, rows] of [
      [1, 1],
      [10, 3],
      [20, 8],
      [60, 15],
      [80, 24],
      [120, 36],
      [400, 100],
    ] as const)
      for (const state of STATES_TO_DRAW) {
        const { lines } = renderFrame(
          frameInput({ model, state, paint: coloured, detail, colours: true, ...at(columns, rows) }),
        );
        const where = `${columns}x${rows} ${state.mode} ${state.panel}`;
        assert.equal(lines.length, rows, where);
        for (const line of lines) assert.ok(styledWidth(line) <= columns, `${where}: ${JSON.stringify(line)}`);
      }
});

test('nothing that others wrote reaches the terminal as a control', () => {
  for (const state of STATES_TO_DRAW) {
    const drawn = renderFrame(frameInput({ model: crowd(), state, detail })).lines;
    for (const line of drawn) assert.doesNotMatch(line, /\p{Cc}|[\u202a-\u202e]/u, JSON.stringify(line));
  }
  const away = { since: NOW, problem: EVIL };
  for (const line of renderFrame(frameInput({ away })).lines) assert.doesNotMatch(line, /\p{Cc}|[\u202a-\u202e]/u);
});

test('the first lines say how it stands, who leads, and the version', () => {
  const [first = '', second = ''] = renderFrame(frameInput()).lines;
  assert.match(first, /^● All is well/);
  assert.match(second, /leader node-a · leasehold 1\.2\.3 · 100 completed/);
  assert.match(renderFrame(frameInput({ model: testModel({ overview: { health: 'trouble' } }) })).lines[0] ?? '', /^✗/);
  assert.match(text({ model: testModel({ role: 'read' }) }), /may only read/);
});

test('each panel has what it is for', () => {
  const shown = text(at(160, 40));
  assert.match(shown, /papers +5 +3 +2\.5\/s +1m 5s/);
  assert.match(shown, /mail ‖ paused/);
  assert.match(shown, /laptop +● online +███░ 3 of 4 +now +task_1 \+2/);
  assert.match(shown, /task_2 +papers +summarise +laptop +1m +25s +1\/3/);
  assert.match(shown, /openai +████████ 4 of 4 +2/);
  assert.match(shown, /claimed +● running +papers +task_2/);
  assert.match(shown, /registered +– +– +gpu-1/);
});

test('at 60 by 15 the panel in focus shows rows, and the others at least their sums', () => {
  for (const [i, row] of ['papers', 'laptop', 'task_2', 'openai', 'registered'].entries()) {
    const shown = text({ state: { ...FIRST, panel: PANELS[i] as (typeof PANELS)[number] }, ...at(60, 15) });
    assert.match(shown, new RegExp(`^(▸| ) *.*${row}`, 'm'));
    for (const sum of [
      /1 queues ── 5 ready, 1 paused/,
      /2 workers ── 2 online, 3 of 8 slots busy/,
      /3 running tasks ── 3/,
      /4 limits ── 1, 1 full/,
      /5 events/,
    ])
      assert.match(shown, sum);
  }
});

test('the chosen row has a mark, with colours or without, and stays in sight', () => {
  assert.match(text(), /^▸ papers/m);
  const state: State = { ...FIRST, chosen: { queues: { key: 'q44', index: 44 } } };
  const queues = Array.from({ length: 60 }, (_, i) => testQueue(`q${i}`));
  assert.match(text({ state, model: testModel({ queues }), ...at(60, 15) }), /^▸ q44/m);
  assert.match(plain(text({ paint: coloured })), /^▸ papers/m);
});

test('a lease that ran out says so, and a task that was asked to stop', () => {
  const tasks = [testTask('task_1', { leaseExpiresAt: NOW - 1, cancelRequestedAt: NOW })];
  assert.match(text({ model: testModel({ tasks }) }), /laptop +12s +ran out +1\/3 +asked to stop/);
});

test('more running tasks than are asked for are counted', () => {
  assert.match(
    text({ model: testModel({ overview: { tasks: { ...testModel().overview.tasks, running: 5000 } } }) }),
    /running tasks ── 3 of 5,000/,
  );
});

test('while the node is away the last picture stays, its countdowns stand still, and since when is told', () => {
  const away = { since: NOW, problem: 'The node does not answer: nobody listens there.' };
  const shown = text({ away, now: NOW + 12_000 });
  assert.match(shown, /✗ node away since \d\d:\d\d:\d\d \(12s\): The node does not answer/);
  assert.match(shown, /task_2 +papers +summarise +laptop +1m +25s/);
});

test('an empty panel says what would fill it, and under a filter that nothing matches', () => {
  assert.match(text({ model: testModel({ limits: [] }) }), /No limits: "leasehold limits set/);
  assert.match(text({ state: { ...FIRST, filter: 'zzz' } }), /Nothing here matches the filter/);
});

const opened = (open: Partial<Open>): State => ({
  ...FIRST,
  open: { panel: 'tasks', name: 'task_1', part: 'log', scroll: 0, ...open },
});

test('of a task that is open the tail of its log is shown below its page', () => {
  const shown = text({ state: opened({}), detail, ...at(80, 24) }).split('\n');
  assert.match(shown[2] ?? '', /^▸task task_1/);
  assert.match(shown.at(-2) ?? '', /[·│] ?f    gz|89/);
  assert.match(shown.join('\n'), /more lines: Tab/);
  assert.match(text({ state: opened({}), detail: { page: () => ['one'], log: [] } }), /The log is empty/);
});

test('a log that is scrolled back says so, and its furthest scroll shows its first line', () => {
  const { furthest } = renderFrame(frameInput({ state: opened({}), detail, ...at(80, 24) }));
  const { lines } = renderFrame(frameInput({ state: opened({ scroll: furthest }), detail, ...at(80, 24) }));
  const shown = lines.join('\n');
  assert.match(shown, /lines back; G follows again/);
  assert.match(shown, /│ 0 ab/);
});

test('a page is scrolled to its last line and not beyond', () => {
  const { furthest } = renderFrame(frameInput({ state: opened({ part: 'page' }), detail, ...at(80, 24) }));
  assert.match(text({ state: opened({ part: 'page', scroll: furthest }), detail, ...at(80, 24) }), /line 49/);
  assert.equal(
    renderFrame(frameInput({ state: opened({ panel: 'queues' }), detail: { page: () => ['one'] } })).furthest,
    0,
  );
});

test('before the node has answered, what is open says that it is asked for', () => {
  assert.match(text({ state: opened({}) }), /Asking the node/);
});

test('a question keeps its answers in sight, however narrow it is', () => {
  const state = STATES_TO_DRAW.find(({ mode }) => mode === 'ask') as State;
  assert.match(renderFrame(frameInput({ state, ...at(60, 15) })).lines.at(-1) ?? '', /y\/n$/);
  assert.match(renderFrame(frameInput({ state, ...at(120, 15) })).lines.at(-1) ?? '', /y yes, any other key no$/);
});
