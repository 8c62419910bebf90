/** "Operate it", block by block, beside a real node on a file and then beside three on one database. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROOT, type Running } from '../../support/leasehold.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { promtool } from '../../support/promtool.ts';
import { type Block, blocksOf, Clone, freePort, interrupt, patternOf, shows } from './guide-pages.ts';

const PAGE = 'operate-it.md';

/** Who reads the page and does what it says. */
class Reader {
  readonly clone: Clone;
  readonly #running = new Map<string, Running>();
  #commands = '';
  shown = '';

  constructor(t: TestContext, env: Readonly<Record<string, string>>) {
    this.clone = new Clone(t, env);
  }

  async step(block: Block): Promise<void> {
    const { kind, where, text } = block;
    if (kind === 'yaml') this.clone.write(where, text);
    else if (kind === 'sh') await this.#run(where, text);
    else if (where === 'node') {
      for (const line of text.trimEnd().split('\n'))
        await this.#running.get('node')?.says(new RegExp(patternOf(line, '\\S+')));
    } else assert.ok(shows(block, this.shown), `${this.#commands}shows\n${this.shown}\nand not\n${text}`);
  }

  async #run(where: string, text: string): Promise<void> {
    const [, stopped] = /^stop-(\d)$/.exec(where) ?? [];
    if (/^node|^worker/.test(where)) {
      await this.stop(where);
      const terminal = this.clone.start(text);
      this.#running.set(where, terminal);
      await terminal.says(where === 'worker' ? /^Worker press/m : /is up at/);
    } else if (stopped !== undefined) {
      await this.say(text);
      await this.#over(`node-${stopped}`);
    } else {
      if (where === 'end') for (const name of this.#running.keys()) await this.stop(name);
      await this.say(text);
    }
  }

  async say(text: string): Promise<void> {
    this.#commands = text;
    this.shown = await this.clone.say(text);
  }

  /** Ctrl-C in its terminal, if something runs there. */
  async stop(name: string): Promise<void> {
    const terminal = this.#running.get(name);
    if (terminal === undefined) return;
    await interrupt(terminal);
    await this.#over(name);
  }

  async #over(name: string): Promise<void> {
    const terminal = this.#running.get(name) as Running;
    await terminal.ended;
    if (name !== 'worker') assert.match(terminal.stdout, /Stopped after/, `${name}\n${terminal.stderr}`);
    this.#running.delete(name);
  }
}

/** What the table says to say, with the names of this run. */
function remedies(names: Readonly<Record<string, string>>): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/guides', PAGE), 'utf8');
  const table = page.slice(page.indexOf('| you see |'), page.indexOf('Tasks are not lost when'));
  const rows = table.trimEnd().split('\n').slice(2);
  return rows.map((row) => {
    const [, line] = /^\| [^|]+ \| `leasehold ([^`|]+)` \| [^|]*\|$/.exec(row) ?? [];
    assert.ok(line, `the row has one command: ${row}`);
    return line.replaceAll(/\b(ID|QUEUE|LIMIT|WORKER)\b/g, (word) => names[word] as string);
  });
}

/** Every command of the table works on what it is about, and does what stands beside it. */
async function trouble(clone: Clone): Promise<void> {
  await clone.say('npx leasehold limits set slow --concurrent 1 --by me');
  await clone.say(`npx leasehold push wrong '{"command": "exit 3"}' --handler shell --max-attempts 1 --follow || true`);
  const id = (await clone.say('npx leasehold push wrong --handler nobody --require nothing --limit slow')).trim();
  const said = new Map<string, string>();
  for (const line of remedies({ ID: id, QUEUE: 'wrong', LIMIT: 'slow', WORKER: 'press' }))
    said.set(line.replace(id, 'ID'), await clone.say(`npx leasehold ${line}`));
  const expected: Readonly<Record<string, RegExp>> = {
    'tasks explain ID': /worker/,
    tags: /^nothing\t0\t/m,
    'tasks show ID': /ready/,
    'tasks retry --queue wrong --state failed --yes': /^1 tasks? of wrong/,
    'tasks cancel ID --tree': /\tcancelled\tready\twrong/,
    'queues pause wrong': /^Paused wrong/,
    'queues resume wrong': /^Resumed wrong/,
    'queues purge wrong --dry-run': /Would cancel|Nothing waits/,
    'limits pause slow --for 10m': /slow/,
    'limits show slow': /slow/,
    'workers disable press': /press/,
    'workers enable press': /press/,
    'workers list': /online/,
    'cluster status': /leader/,
    doctor: /0 failed/,
  };
  for (const [line, pattern] of Object.entries(expected))
    assert.match(said.get(line) ?? 'not on the page', pattern, line);
}

const rolesOf = (status: string): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    status
      .split('\n')
      .map((line) => line.split('\t'))
      .filter(([id]) => id?.startsWith('node-'))
      .map(([id, , role]) => [id, role]),
  );

test('everything on "Operate it" works as it stands', { timeout: 290_000 }, async (t) => {
  const ports = { 7420: '', 7421: '', 7422: '', 7423: '' };
  for (const port of [7420, 7421, 7422, 7423] as const) ports[port] = String(await freePort());
  const reader = new Reader(t, { LEASEHOLD_PORT: ports[7420], DB: await freshDatabase('operate') });
  const { clone } = reader;
  const blocks = blocksOf(PAGE, ports);
  const leaders: Readonly<Record<string, string | undefined>>[] = [];
  const look = async (): Promise<void> => {
    leaders.push(rolesOf(await clone.say('npx leasehold cluster status --store "$DB"')));
  };
  for (const block of blocks) {
    const { kind, where, text } = block;
    if (where === 'server' || where === 'new-version') continue; // the tests have one, and this version is the newest
    if (where === 'look') {
      // Node-1 is gone, another one leads, and all that was pushed before has completed.
      await clone.look(
        text,
        (shown) => Object.values(rolesOf(shown)).includes('leader') && /^echo\t0\t0\t0\t0\t60\t0\t0\t/m.test(shown),
      );
      await look();
      continue;
    }
    await reader.step(block);
    if (text.includes('--count 60')) await look();
    if (text.includes(`${ports[7422]}/readyz`)) await look();
    if (text.startsWith('npx leasehold workers drain')) await trouble(clone);
    if (kind === 'yaml') checkRules(t, clone, where);
  }
  const [before, between, after] = leaders;
  assert.deepEqual(before, { 'node-1': 'leader', 'node-2': 'worker', 'node-3': 'worker' });
  assert.equal(between?.['node-1'], 'leader', 'a node that does not lead is replaced without an election');
  assert.notEqual(after?.['node-1'], 'leader');
  for (const trace of ['.leasehold', 'monday.db', 'before-upgrade.db'])
    assert.ok(!existsSync(join(clone.cwd, trace)), trace);
});

/** Prometheus takes the alerts of the page. */
function checkRules(t: TestContext, { cwd }: Clone, file: string): void {
  const said = promtool(['check', 'rules', file], cwd);
  if (said === undefined) t.diagnostic('there is no promtool');
  else assert.equal(said, '');
}
