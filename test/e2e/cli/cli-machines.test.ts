import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BIN } from '../../support/leasehold.ts';
import { type Place, place } from './cli-calls.ts';

const MACHINE = `spec: flatmachine
spec_version: "4.2.1"
data:
  name: greeter
  context: { who: "{{ input.who | default('nobody') }}" }
  states:
    start: { type: initial, transitions: [{ to: look }] }
    look:
      action: look_up
      on_error: { NameError: unknown }
      transitions: [{ condition: "context.known", to: wait }, { to: unknown }]
    wait: { wait_for: "hello/{{ context.who }}", output_to_context: { greeting: output.text }, transitions: [{ to: done }] }
    unknown: { type: final, output: { text: "who is {{ context.who }}?" } }
    done: { type: final, output: { text: "{{ context.greeting }}, {{ context.who }}", id: context.machine.execution_id, parent: context.machine.parent_execution_id } }
`;
const HOOKS = `export default { onAction: (state, action, context) => {
  if (context.who === 'error') throw Object.assign(new Error('it broke'), { name: 'OtherError' });
  return { known: context.who === 'Ann' };
} };\n`;

function withFiles(at: Place, files: Readonly<Record<string, string>> = {}): Place {
  for (const [name, text] of Object.entries({ 'greeter.yml': MACHINE, 'hooks.mjs': HOOKS, ...files })) {
    writeFileSync(join(at.cwd, name), text);
  }
  return at;
}

test('run prints the output on standard output and each state on standard error', async (t) => {
  const { call } = withFiles(place(t));
  const words = ['--hooks', 'hooks.mjs', '--signal', 'hello/Ann={"text": "Hi"}', '-e', 'run-1', '-p', 'run-0'];
  const { code, stdout, stderr } = await call(['run', 'greeter.yml', '-i', '{"who": "Ann"}', ...words]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '{"text":"Hi, Ann","id":"run-1","parent":"run-0"}\n');
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    ' 1 start',
    ' 2 look',
    '   action look_up',
    ' 3 wait',
    '   waits for signal hello/Ann',
    ' 4 done',
  ]);
});

test('run takes the input from a file and from standard input, and the machine by --machine and --config', async (t) => {
  const { call } = withFiles(place(t), { 'input.json': '{"who": "Bo"}' });
  for (const words of [
    ['greeter.yml', '--input', '@input.json'],
    ['--config', 'greeter.yml', '--input', '-'],
    ['--machine', 'greeter.yml', '--input', '{"who": "Bo"}'],
  ]) {
    const { stdout, stderr } = await call(['run', ...words, '--hooks', 'hooks.mjs', '--json'], '{"who": "Bo"}');
    assert.equal(stdout, '{"text":"who is Bo?"}\n', stderr);
    assert.equal(stderr, '');
  }
  const shipped = await call(['run', '--machine', 'actual_job_processor', '--input', '{"job": {"n": 1}}']);
  assert.equal(shipped.stdout, '{"echo":{"n":1}}\n');
});

test('run tells with --verbose what goes in and out, as objects with --json', async (t) => {
  const { call } = withFiles(place(t));
  const words = ['run', 'greeter.yml', '--hooks', 'hooks.mjs', '--verbose'];
  const { stderr } = await call(words);
  assert.match(stderr, /^ {3}→ look\n 2 look\n {3}action look_up\n {3}= \{"known":false\}\n {3}→ unknown\n/m);
  const json = await call([...words, '--json']);
  const steps = json.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { kind: string; state: string; machine: string });
  assert.deepEqual(
    steps.filter(({ kind }) => kind === 'enter').map(({ state, machine }) => [state, machine]),
    [
      ['start', 'greeter'],
      ['look', 'greeter'],
      ['unknown', 'greeter'],
    ],
  );
});

test('a signal comes by standard input while the machine waits', async (t) => {
  const { cwd } = withFiles(place(t));
  const words = ['run', 'greeter.yml', '--input', '{"who": "Ann"}', '--hooks', 'hooks.mjs', '--signal', '-'];
  const child = spawn(process.execPath, [BIN, ...words], { cwd });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    // The first line is no signal, and changes nothing.
    if (/waits for signal hello\/Ann\n/.test(text))
      child.stdin.write('hello/Ann=nonsense\nhello/Ann={"text": "Hey"}\n');
  });
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, stderr);
  assert.match(stdout, /"text":"Hey, Ann"/);
  assert.match(stderr, /The signal hello\/Ann is not valid: it is not JSON/);
});

test('a run that waits for a signal which nobody can send says how it could be', async (t) => {
  const { cwd } = withFiles(place(t));
  const words = ['run', 'greeter.yml', '--input', '{"who": "Ann"}', '--hooks', 'hooks.mjs'];
  const child = spawn(process.execPath, [BIN, ...words], { cwd });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    if (/--signal -/.test(stderr)) child.kill('SIGTERM');
  });
  await once(child, 'close');
  assert.match(stderr, /waits for signal hello\/Ann\n +Nobody can send it to this run: .*--signal 'hello\/Ann=JSON'/);
});

test('lines in a pipe are whole, however long an error is', async (t) => {
  const long = 'word '.repeat(60).trim();
  const hooks = `export default { onAction() { throw Object.assign(new Error(${JSON.stringify(long)}), { name: 'NameError' }); } };\n`;
  const { call } = withFiles(place(t), { 'long.mjs': hooks });
  const { stderr } = await call(['run', 'greeter.yml', '--hooks', 'long.mjs']);
  assert.ok(stderr.split('\n').includes(`   ! NameError: ${long}`), stderr);
});

test('a machine that fails ends with 1 and says where and why', async (t) => {
  const { call } = withFiles(place(t));
  const words = ['run', 'greeter.yml', '--hooks', 'hooks.mjs', '--input', '{"who": "error"}'];
  const { code, stdout, stderr } = await call(words);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^The machine failed in the state look: OtherError: it broke$/m);
  const json = await call([...words, '--json']);
  assert.equal(json.code, 1);
  assert.deepEqual((JSON.parse(json.stderr) as { error: { code: string; details: object } }).error.details, {
    state: 'look',
    problem: 'OtherError: it broke',
    type: 'OtherError',
    error: 'it broke',
  });
  assert.equal((await call(['run', 'greeter.yml', '--max-steps', '1'])).code, 1);
});

test('run lists all problems of an invalid machine with their lines, and ends with 2', async (t) => {
  const bad = `spec: flatmachine
spec_version: "1.0"
data:
  machines:
    inner: { spec: flatmachine, spec_version: "1.0", data: { states: { a: { type: final, output: { x: "{{ 1 +" } } } } }
    other: ./missing.yml
  states:
    start:
      transitions: [{ to: nowhere }]
    next: { action: [1], transitions: [{ condition: "1 +", to: start }] }
`;
  const { call } = withFiles(place(t), { 'bad.yml': bad });
  const { code, stdout, stderr } = await call(['run', 'bad.yml']);
  assert.deepEqual([code, stdout], [2, '']);
  const lines = stderr.trim().split('\n');
  assert.match(lines[0] ?? '', /bad\.yml is not valid: it has 5 problems/);
  const places = lines.slice(1).map((line) => Number(/^bad\.yml:(\d+): /.exec(line)?.[1]));
  // In the order of the file, then those of the machines that it brings.
  assert.deepEqual(places, [9, 10, 10, 5, 6]);
  const json = await call(['run', 'bad.yml', '--json']);
  assert.equal((JSON.parse(json.stderr) as { error: { details: { problems: [] } } }).error.details.problems.length, 5);
});

test('wrong usage of run ends with 2, and what is not there with 3', async (t) => {
  const { call } = withFiles(place(t));
  for (const words of [
    [],
    ['greeter.yml', '--config', 'greeter.yml'],
    ['greeter.yml', '--input', '[1]'],
    ['greeter.yml', '--input', 'nonsense'],
    ['greeter.yml', '--signal', '=1'],
    ['greeter.yml', '--signal', 'a={'],
    ['greeter.yml', '--signal', '-', '--input', '-'],
    ['greeter.yml', '--max-steps', '0'],
    ['greeter.yml', '--store', 'memory:', '--server', 'http://127.0.0.1:1'],
    ['greeter.yml', '--store', 'memory:', '--max-steps', '5'],
    ['greeter.yml', '--server', 'http://127.0.0.1:1', '--hooks', 'hooks.ts'],
  ]) {
    const { code, stderr } = await call(['run', ...words]);
    assert.equal(code, 2, `${words.join(' ')}: ${stderr}`);
  }
  for (const words of [
    ['no_such_machine'],
    ['missing.yml'],
    ['greeter.yml', '--hooks', 'missing.mjs'],
    ['greeter.yml', '--input', '@missing'],
  ]) {
    const { code, stderr } = await call(['run', ...words]);
    assert.equal(code, 3, `${words.join(' ')}: ${stderr}`);
  }
  assert.match((await call(['run', 'no_such_machine'])).stderr, /echo_processor/);
});

for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} stops a run that waits, and one whose hook does not come back`, async (t) => {
    const stuck = 'export const onAction = () => new Promise(() => setInterval(() => {}, 1000));\n';
    const { cwd } = withFiles(place(t), { 'stuck.mjs': stuck });
    for (const [hooks, until] of [
      ['hooks.mjs', /waits for signal/],
      ['stuck.mjs', /action look_up/],
    ] as const) {
      const words = ['run', 'greeter.yml', '--input', '{"who": "Ann"}', '--hooks', hooks];
      const child = spawn(process.execPath, [BIN, ...words], { cwd });
      child.stderr.setEncoding('utf8').on('data', (text: string) => until.test(text) && child.kill(signal));
      const [code] = (await once(child, 'close')) as [number];
      assert.equal(code, status);
    }
  });
}

test('--dry-run shows the way and calls nothing', async (t) => {
  const never = 'export const onAction = () => { throw new Error("called"); };\n';
  const { call } = withFiles(place(t), { 'never.mjs': never });
  const { code, lines, stderr } = await call([
    'run',
    'greeter.yml',
    '--dry-run',
    '--input',
    '{"who": "Ann"}',
    '--hooks',
    'never.mjs',
  ]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(lines.slice(1), [
    '  1  start',
    '     → look',
    '  2  look',
    '     action look_up',
    '     ? → wait  if context.known',
    '     ? → unknown (step 5)  otherwise',
    '     ! → unknown (step 5)  on NameError',
    '  3? wait',
    '     waits for signal hello/{{ context.who }}',
    '     → done',
    '  4? done',
    '     ends with {"text":"{{ context.greeting }}, {{ context.who }}","id":"context.machine.execution_id","parent":"context.machine.parent_execution_id"}',
    '  5? unknown',
    '     ends with {"text":"who is {{ context.who }}?"}',
  ]);
  const json = await call(['run', 'greeter.yml', '--dry-run', '--json']);
  assert.equal((json.objects()[0] as { steps: [] }).steps.length, 5);
});

test('machines show draws a machine as text, as a diagram and as an object', async (t) => {
  const { call } = withFiles(place(t));
  const { stdout } = await call(['machines', 'show', 'greeter.yml']);
  assert.match(stdout, /^greeter {2}flatmachine 4\.2\.1, 5 states$/m);
  assert.match(
    stdout,
    /^○ look\n {4}action {2}look_up\n {2}→ wait {5}if context\.known\n {2}→ unknown {2}otherwise\n {2}! unknown {2}on NameError$/m,
  );
  const diagram = await call(['machines', 'show', 'greeter.yml', '--format', 'mermaid']);
  assert.match(diagram.stdout, /^stateDiagram-v2\n {4}state "start" as s0\n/);
  for (const words of [['--format', 'json'], ['--json']]) {
    const { objects } = await call(['machines', 'show', 'greeter.yml', ...words]);
    assert.equal(objects()[0]?.['initial'], 'start');
  }
  assert.equal((await call(['machines', 'show', 'nope.yml'])).code, 3);
});

test('machines check names every problem with its line and ends with 1', async (t) => {
  const files = {
    'odd.yml': MACHINE.replace('  name: greeter', '  name: greeter\n  colour: red'),
    'broken.yml': 'spec: [\n',
  };
  const { call } = withFiles(place(t), files);
  const { code, lines, stderr } = await call(['machines', 'check', 'greeter.yml', 'odd.yml', 'broken.yml', 'gone.yml']);
  assert.equal(code, 1);
  assert.equal(stderr, 'greeter.yml is fine.\n');
  assert.match(lines[0] ?? '', /^odd\.yml:5: data\.colour: there is no field "colour"$/);
  assert.match(lines[1] ?? '', /^broken\.yml:\d+: /);
  assert.equal(lines[2], 'gone.yml: there is no such file');
  const json = await call(['machines', 'check', 'odd.yml', '--json']);
  assert.deepEqual(json.objects(), [
    { file: 'odd.yml', line: 5, level: 'error', path: 'data.colour', message: 'there is no field "colour"' },
  ]);
  assert.equal((await call(['machines', 'check'])).code, 2);
});

test('a machine within or an agent whose file is not there is a warning of run, and an error of machines check', async (t) => {
  const text = `spec: flatmachine
spec_version: "2.0.0"
data:
  machines: { later: ./later.yml }
  agents: { writer: ./writer.yml, poet: poet, coder: { type: claude-code, ref: ./coder.json, config: { model: opus } } }
  states:
    start: { machine: later, on_error: done, transitions: [{ to: done }] }
    done: { type: final, output: { why: context.last_error_type } }
`;
  const { call } = withFiles(place(t), { 'around.yml': text });
  const { code, stdout, stderr } = await call(['run', 'around.yml']);
  assert.deepEqual([code, stdout], [0, '{"why":"NOT_FOUND"}\n'], stderr);
  assert.match(stderr, /around\.yml:4: data\.machines\.later: there is no file "\.\/later\.yml"\n/);
  assert.match(stderr, /around\.yml:5: data\.agents\.writer: there is no file "\.\/writer\.yml"\n/);
  assert.equal(stderr.match(/there is no file/g)?.length, 2, stderr);
  for (const words of [
    ['run', 'around.yml', '--strict'],
    ['machines', 'check', 'around.yml'],
  ]) {
    const strict = await call(words);
    assert.notEqual(strict.code, 0);
    assert.match(strict.stdout + strict.stderr, /there is no file "\.\/later\.yml"/);
  }
});

test('machines schema prints a JSON Schema', async (t) => {
  const { call } = place(t);
  const { stdout } = await call(['machines', 'schema']);
  assert.equal((JSON.parse(stdout) as { $schema: string }).$schema, 'https://json-schema.org/draft/2020-12/schema');
});
