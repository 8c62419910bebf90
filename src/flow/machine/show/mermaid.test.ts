import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMachine } from '../read-machine.ts';
import { mermaidOf } from './mermaid.ts';
import { outlineOf } from './outline.ts';

function drawn(states: object): string {
  const raw = { spec: 'flatmachine', spec_version: '4.2.1', data: { states } };
  const { machine, problems } = readMachine(raw);
  if (machine === undefined) throw new Error(JSON.stringify(problems));
  return mermaidOf(outlineOf(machine, raw));
}

/** The statements of a stateDiagram-v2 that are used here, with nothing in a label that its parser takes for syntax. */
const LABEL = '(?:[\\p{L}\\p{N} _.,/()+*!?=…-]|#\\d+;)+';
const STATEMENTS = new RegExp(
  `^    (?:state "${LABEL}" as s\\d+|s\\d+ : ${LABEL}|(?:\\[\\*\\]|s\\d+) --> (?:\\[\\*\\]|s\\d+)(?: : ${LABEL})?|classDef recovery .*|class s\\d+ recovery)$`,
  'u',
);

test('a diagram has every state, what it does, its transitions with conditions, errors and ends', () => {
  const text = drawn({
    start: {
      action: 'look',
      on_error: { TimeoutError: 'late', default: 'late' },
      transitions: [{ condition: 'context.n > 1', to: 'end' }, { to: 'late' }],
    },
    late: { type: 'final' },
    end: { type: 'final', output: { n: 1 } },
  });
  assert.equal(
    text,
    `stateDiagram-v2
    state "start" as s0
    s0 : action look
    state "late" as s1
    state "end" as s2
    s2 : output n
    [*] --> s0
    s0 --> s2 : context.n #62; 1
    s0 --> s1 : else
    s0 --> s1 : on error TimeoutError
    s0 --> s1 : on error
    s1 --> [*]
    s2 --> [*]
    classDef recovery stroke-dasharray: 5 5
    class s1 recovery
`,
  );
});

test('names and conditions cannot break out of a diagram', () => {
  const evil = 'a" as x\n%% --> [*]; <script>alert(1)</script> : ` #quot; 你好';
  const text = drawn({
    [evil]: { action: evil, transitions: [{ condition: 'context.a == "\\"; -->" and context.b > 0', to: 'note' }] },
    note: { agent: 'x'.repeat(300), on_error: evil, transitions: [{ to: 'end' }] },
    end: { type: 'final' },
  });
  const [first, ...lines] = text.trimEnd().split('\n');
  assert.equal(first, 'stateDiagram-v2');
  for (const line of lines) assert.match(line, STATEMENTS);
  assert.ok(text.includes('你好'));
  for (const line of lines) assert.ok(line.length < 600);
});
