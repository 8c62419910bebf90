import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  launcherOf,
  lives,
  PATH,
  problemsOf,
  refusalOf,
  requestOf,
  TICKET,
} from '../../../test/support/fleet/launching.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { Launched } from '../launcher.ts';
import { commandKind } from './command.ts';
import { launchName } from './launch-name.ts';

const folder = tempFolder('launch-command');
const kind = commandKind({
  environment: { PATH, HOME: folder, NODE_SECRET: 'canary', LEASEHOLD_LEASE: 'mark' },
  killMs: 50,
});

const sh = (script: string, ...args: readonly string[]): readonly string[] => ['sh', '-c', script, 'sh', ...args];
const launch = (settings: object, given: Parameters<typeof requestOf>[0] = {}): Promise<Launched> =>
  launcherOf(kind, settings).launch(requestOf(given));

let pipes = 0;

/** What a program writes first into a pipe of the file system, such as its number: it has come so far then. */
function meeting(): { readonly path: string; readonly said: () => Promise<number> } {
  const path = join(folder, `pipe-${++pipes}`);
  execFileSync('mkfifo', [path]);
  return { path, said: async () => Number(await readFile(path, 'utf8')) };
}

describe('a program that starts a worker', () => {
  test('it has started one when it ends with 0, and its last line says which', async () => {
    const started = await launch({ argv: sh('echo pulling; echo 4f0c21; echo') });
    assert.deepEqual(started, { started: '4f0c21' });
    assert.deepEqual(await launch({ argv: ['true'] }), { started: 'by true' });
  });

  test('its arguments are filled as they are: no shell reads them', async () => {
    const out = join(folder, 'arguments');
    const args = [
      '{pool}',
      '--name={name}',
      '{args}',
      '{leasehold}',
      '$(touch trapped); `id`',
      '{expires_at}',
      '{{pool}}',
    ];
    await launch({ argv: sh('printf "%s\\n" "$@" > "$OUT"', ...args), env: { OUT: out } });
    assert.deepEqual(readFileSync(out, 'utf8').trimEnd().split('\n'), [
      'papers',
      `--name=${launchName(requestOf())}`,
      ...requestOf().args,
      '/usr/bin/node',
      '/srv/leasehold.js',
      '$(touch trapped); `id`',
      '2026-11-19T12:00:00.000Z',
      '{pool}',
    ]);
  });

  test('it gets the ticket in its environment and on its input, never as an argument', async () => {
    const out = join(folder, 'ticket');
    const stdin = '{"ticket":"{ticket}","command":{args}}';
    const script =
      'cat /proc/$$/cmdline > "$OUT.args"; echo "$LEASEHOLD_TICKET $LEASEHOLD_POOL $MINE" > "$OUT"; cat >> "$OUT"';
    await launch({ argv: sh(script, '{name}'), env: { OUT: out, MINE: 'x{ticket_id}' }, stdin });
    const args = readFileSync(`${out}.args`, 'utf8');
    assert.ok(args.includes(launchName(requestOf())) && !args.includes(TICKET), args);
    const [line, input = ''] = readFileSync(out, 'utf8').split('\n');
    assert.equal(line, `${TICKET} papers xtk_1`);
    assert.deepEqual(JSON.parse(input), { ticket: TICKET, command: requestOf().args });
  });

  test('its input may be JSON, whose texts are filled', async () => {
    const out = join(folder, 'json');
    const stdin = { ticket: '{ticket}', command: '{args}', quoted: '"{pool}"', count: 1 };
    await launch({ argv: sh('cat > "$OUT"'), env: { OUT: out }, stdin });
    const expected = { ticket: TICKET, command: requestOf().args, quoted: '"papers"', count: 1 };
    assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')), expected);
    assert.deepEqual(problemsOf(kind, { argv: ['x'], stdin: { a: [{ b: '{tickett}' }] } }), [
      'launcher.stdin.a.0.b there is no placeholder {tickett}; did you mean {ticket}?',
    ]);
  });

  test('of the environment of the node it gets what every program needs, and what is named', async () => {
    const out = join(folder, 'environment');
    await launch({ argv: sh('env > "$OUT"'), env: { OUT: out } });
    const plain = readFileSync(out, 'utf8');
    assert.match(plain, /^PATH=/m);
    assert.match(plain, /^LEASEHOLD_ALLOW=none$/m);
    assert.doesNotMatch(plain, /NODE_SECRET|LEASEHOLD_STORE|LEASEHOLD_LEASE/);
    await launch({ argv: sh('env > "$OUT"'), env: { OUT: out }, pass: ['NODE_SECRET'], same_host: true });
    assert.match(readFileSync(out, 'utf8'), /^NODE_SECRET=canary$/m);
    assert.match(readFileSync(out, 'utf8'), /^LEASEHOLD_STORE=sqlite:\/srv\/work\.db$/m);
    assert.doesNotMatch(readFileSync(out, 'utf8'), /LEASEHOLD_TOKEN/);
  });

  test('a variable that is named and not there starts nothing', async () => {
    const { code, message } = await refusalOf(launch({ argv: sh(`touch ${folder}/started`), pass: ['NO_SUCH'] }));
    assert.equal(code, 'NO_VARIABLE');
    assert.match(message, /NO_SUCH/);
    assert.equal(existsSync(join(folder, 'started')), false);
  });

  test('what it leaves running in its group goes on, for it may be the worker', async () => {
    const pipe = meeting();
    const leaving = 'sleep 60 >/dev/null 2>&1 & echo $! > "$PIPE"; echo left';
    const launched = launch({ argv: sh(leaving), env: { PIPE: pipe.path } });
    const pid = await pipe.said();
    assert.deepEqual(await launched, { started: 'left' });
    assert.equal(lives(pid), true);
    process.kill(pid, 'SIGKILL');
  });

  test('what it leaves running may hold its output open: nobody waits for that', async () => {
    const pipe = meeting();
    const launched = launch({ argv: sh('echo started; sleep 60 & echo $! > "$PIPE"'), env: { PIPE: pipe.path } });
    const pid = await pipe.said();
    assert.deepEqual(await launched, { started: 'started' });
    assert.equal(lives(pid), true);
    process.kill(pid, 'SIGKILL');
  });
});

describe('a program that fails', () => {
  test('its exit code and its last lines are the error, without the ticket', async () => {
    const script = 'for i in $(seq 30); do echo "line $i $LEASEHOLD_TICKET" >&2; done; exit 7';
    const { code, message } = await refusalOf(launch({ argv: sh(script) }));
    assert.equal(code, 'EXIT');
    assert.match(message, /^sh ended with exit code 7\.\n/);
    assert.match(message, /line 30 \(hidden\)$/);
    assert.equal(message.split('\n').length, 11);
  });

  test('a program that is not there is named', async () => {
    const { code, message } = await refusalOf(launch({ argv: ['no-such-program-4711'] }));
    assert.deepEqual([code, message], ['NOT_STARTED', 'no-such-program-4711 could not be started (ENOENT).']);
  });

  test('a program that a signal ends is named with it', async () => {
    const { code, message } = await refusalOf(launch({ argv: sh('kill -KILL $$') }));
    assert.equal(code, 'EXIT');
    assert.match(message, /was ended by SIGKILL/);
  });

  test('what it leaves running is ended with it', async () => {
    const pipe = meeting();
    const launched = refusalOf(launch({ argv: sh('sleep 60 & echo $! > "$PIPE"; exit 1'), env: { PIPE: pipe.path } }));
    const pid = await pipe.said();
    await launched;
    assert.equal(lives(pid), false);
  });

  test('however much it writes, little is kept', async () => {
    const before = process.memoryUsage.rss();
    const { message } = await refusalOf(launch({ argv: sh('head -c 100000000 /dev/zero >&2; exit 1') }));
    assert.ok(message.length < 10_000, `${message.length}`);
    assert.ok(process.memoryUsage.rss() - before < 90_000_000);
  });
});

describe('a deadline', () => {
  test('a program that hangs is ended with all of its group, and leaves no zombie', async () => {
    const pipe = meeting();
    const stop = new AbortController();
    const script = 'sleep 60 & sleep 61 & echo stuck >&2; echo $! > "$PIPE"; wait';
    const launched = refusalOf(launch({ argv: sh(script), env: { PIPE: pipe.path } }, { signal: stop.signal }));
    const pid = await pipe.said();
    const children = execFileSync('ps', ['-o', 'pid=', '-g', groupOf(pid)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(Number);
    assert.equal(children.length, 3);
    stop.abort(new Error('too late'));
    const { code, message } = await launched;
    assert.equal(code, 'TIMEOUT');
    assert.match(message, /^sh did not end in time, and was ended\.\nstuck$/);
    assert.deepEqual(children.filter(lives), []);
    // Of the process itself not even its entry is left: nobody but us could reap it.
    assert.equal(existsSync(`/proc/${children[0]}`), false);
  });

  test('a program that ignores SIGTERM is killed', async () => {
    const pipe = meeting();
    const stop = new AbortController();
    const script = 'trap "" TERM; echo $$ > "$PIPE"; while :; do sleep 0.01; done';
    const launched = refusalOf(launch({ argv: sh(script), env: { PIPE: pipe.path } }, { signal: stop.signal }));
    const pid = await pipe.said();
    stop.abort();
    assert.equal((await launched).code, 'TIMEOUT');
    assert.equal(lives(pid), false);
  });

  test('a program that ends well only after its deadline has started nothing', async () => {
    const pipe = meeting();
    const stop = new AbortController();
    const script = 'trap "exit 0" TERM; echo $$ > "$PIPE"; while :; do sleep 0.01; done';
    const launched = refusalOf(launch({ argv: sh(script), env: { PIPE: pipe.path } }, { signal: stop.signal }));
    await pipe.said();
    stop.abort();
    assert.equal((await launched).code, 'TIMEOUT');
  });

  test('after it nothing is started at all', async () => {
    const started = join(folder, 'late');
    await assert.rejects(
      launch({ argv: ['touch', started] }, { signal: AbortSignal.abort(new Error('over')) }),
      /over/,
    );
    assert.equal(existsSync(started), false);
  });
});

function groupOf(pid: number): string {
  return execFileSync('ps', ['-o', 'pgid=', '-p', `${pid}`], { encoding: 'utf8' }).trim();
}

describe('settings', () => {
  test('every problem is listed with its place', () => {
    const problems = problemsOf(kind, {
      argv: ['', '{tiket}', '--t={ticket}'],
      env: { 'A-B': 'x', LEASEHOLD_TICKET: 'mine', DB_PASSWORD: 'canary', OK: '{polo}' },
      pass: ['A=B'],
      stdin: '{ticket} {nothing_like_it}',
      shell: true,
    });
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[0]),
      [
        'launcher.shell',
        'launcher.argv.1',
        'launcher.argv.2',
        'launcher.env.A-B',
        'launcher.env.LEASEHOLD_TICKET',
        'launcher.env.DB_PASSWORD',
        'launcher.env.OK',
        'launcher.pass.0',
        'launcher.stdin',
      ],
    );
    assert.ok(!problems.join().includes('canary'));
  });

  test('the program itself is fixed', () => {
    assert.deepEqual(problemsOf(kind, { argv: [''] }), ['launcher.argv.0 must not be empty']);
    assert.deepEqual(problemsOf(kind, { argv: ['/opt/{pool}'] }), ['launcher.argv.0 must not have a placeholder']);
    assert.deepEqual(problemsOf(kind, { argv: [] }), ['launcher.argv must have at least 1 entry']);
    assert.deepEqual(problemsOf(kind, {}), ['launcher.argv is missing']);
    assert.deepEqual(problemsOf(kind, { argv: 'docker run' }), ['launcher.argv must be a list, not a string']);
    assert.deepEqual(problemsOf(kind, { argv: ['{leasehold}', '{args}'], same_host: true }), []);
  });

  test('a secret among its arguments is refused', () => {
    const [problem = ''] = problemsOf(kind, { argv: ['docker', 'run', '--env', 'DB_PASSWORD=canary'] });
    assert.match(problem, /^launcher\.argv\.3 must not have a secret/);
    assert.ok(!problem.includes('canary'));
    const stdin = { env: { DB_PASSWORD: 'canary' }, clientToken: '{name}' };
    assert.match(
      problemsOf(kind, { argv: ['aws'], stdin }).join(),
      /^launcher\.stdin\.env\.DB_PASSWORD must not have a secret/,
    );
  });

  test('their size is bounded', () => {
    assert.match(problemsOf(kind, { argv: ['x'.repeat(40_000)] }).join(), /longer than/);
    assert.match(problemsOf(kind, { argv: Array.from({ length: 300 }, () => 'x') }).join(), /more than 200/);
  });
});
