import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { noOpenssl } from '../../support/certificate.ts';
import { BIN, ROOT, type Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { noSecondMachine, type SecondMachine, secondMachine } from '../../support/second-machine.ts';

const PAGE = join(ROOT, 'docs/guides/add-a-worker.md');
/** Gives a command a terminal. */
const TERMINAL = 'script';
/** The address that stands on the page. */
const WRITTEN = '192.168.1.10';
/** `npm` and `npx` as in a clone after `npm ci`, and `sudo` for who is root already. */
const TOOLS = `set -e
npx() { shift; '${process.execPath}' '${BIN}' "$@"; }
npm() { shift 2; exec '${process.execPath}' '${BIN}' up "$@"; }
sudo() { "$@"; }
`;
/** What is set in one block is there in the next, as in a terminal. */
const scriptOf = (text: string): string =>
  `[ -e .variables ] && . ./.variables\n${TOOLS}set -a\n${text}\nexport -p >.variables\n`;
/** Commands that only look may look again until they see what the page shows. */
const LOOKS = /^npx leasehold tasks show \$ID$/;

interface Block {
  readonly kind: 'sh' | 'text';
  readonly where: string;
  readonly text: string;
}

function blocksOf(page: string): readonly Block[] {
  const blocks = [...page.matchAll(/^```(sh|text) ([\w-]+)\n(.*?)^```$/gms)].map(
    ([, kind, where, text]): Block => ({ kind: kind as Block['kind'], where: where as string, text: text as string }),
  );
  assert.equal(blocks.length * 2, page.match(/^```/gm)?.length, 'every block of the page is run or compared');
  return blocks;
}

/** What differs from run to run takes one form. */
function masked(text: string): readonly string[] {
  return stripVTControlCharacters(text)
    .replaceAll('\r', '')
    .replaceAll(/task_[\da-f-]{36}/g, 'ID')
    .replaceAll(/lh_code_[\w-]{43}/g, 'CODE')
    .replaceAll(/198\.18\.\d+\.\d+|192\.168\.1\.10/g, 'ADDRESS')
    .replaceAll(/[\d,]+ ms$/gm, 'TOOK')
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
}

/** Whether these are the lines of the page; one that is "…" stands for any number of lines. */
function agrees(shown: string, wanted: string): boolean {
  const source = masked(wanted).map((line) => (line === '…' ? '(?:.*\n)*?' : `${RegExp.escape(line)}\n`));
  return new RegExp(`^${source.join('')}$`).test(
    masked(shown)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

/** Both hosts, and who sits at them. */
class Walk {
  readonly #t: TestContext;
  readonly #one: string;
  readonly #two: string;
  readonly #second: SecondMachine;
  readonly #running = new Map<string, Running>();
  #code = '';
  /** The last commands on host one, and what they have printed. */
  #commands = '';
  #shown = '';

  constructor(t: TestContext) {
    this.#t = t;
    this.#one = temporaryFolder(t);
    this.#two = temporaryFolder(t);
    this.#second = secondMachine(t);
  }

  step({ kind, where, text }: Block): Promise<void> {
    if (kind === 'sh') return this.#run(where, this.#typed(text));
    return where === 'one' ? this.#compareHere(text) : this.#compareThere(where, text);
  }

  /** The address and the code of this run, where those of the page stand. */
  #typed(text: string): string {
    return text.replaceAll(WRITTEN, this.#second.address).replaceAll(/lh_code_\w+/g, this.#code);
  }

  async #run(where: string, text: string): Promise<void> {
    switch (where) {
      case 'one':
        this.#commands = text;
        this.#shown = await this.#type(text);
        return;
      case 'node':
        this.#running.set('node', this.#start(this.#one, text));
        return;
      case 'copy':
        copyFileSync(join(this.#one, 'cert.pem'), join(this.#two, 'cert.pem'));
        return;
      case 'worker':
        this.#running.set('worker', this.#start(this.#two, text, this.#second.wrapper));
        return;
      case 'unplug':
      case 'plug': {
        const done = this.#start(this.#two, text, this.#second.wrapper);
        assert.equal((await done.ended).code, 0, done.stderr);
        return;
      }
      case 'end':
        await this.#stopNode();
        await this.#type(text);
        return;
      default:
        assert.fail(`nobody sits at ${where}`);
    }
  }

  #start(cwd: string, text: string, wrapper: readonly string[] = []): Running {
    const [command, before] = wrapper.length === 0 ? ['sh', []] : [wrapper[0] as string, [...wrapper.slice(1), 'sh']];
    return run(this.#t, [...before, '-c', scriptOf(text)], { cwd, command, group: true });
  }

  /** Commands on host one, as somebody does who sits at its terminal; to their end. */
  async #type(text: string): Promise<string> {
    const line = `stty cols 140 rows 40 -echo 2>/dev/null\n${scriptOf(text)}`;
    const env = { SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1' };
    const shell = run(this.#t, ['-qefc', line, '/dev/null'], { cwd: this.#one, command: TERMINAL, env });
    assert.equal((await shell.ended).code, 0, `${text}\n${shell.stdout}${shell.stderr}`);
    return shell.stdout;
  }

  async #compareHere(wanted: string): Promise<void> {
    const look = this.#commands.trimEnd().split('\n').at(-1) ?? '';
    while (!agrees(this.#shown, wanted)) {
      assert.match(look, LOOKS, `${this.#commands}shows\n${this.#shown}\nand not\n${wanted}`);
      this.#shown = await this.#type(look);
    }
    this.#code = /lh_code_[\w-]+/.exec(this.#shown)?.[0] ?? this.#code;
  }

  async #compareThere(where: string, wanted: string): Promise<void> {
    const process = this.#running.get(where.replace(/-ends$/, '')) as Running;
    if (where.endsWith('-ends')) {
      assert.equal((await process.ended).code, 4, process.stdout + process.stderr);
      for (const line of masked(wanted)) assert.ok(masked(process.stderr).includes(line), process.stderr);
      return;
    }
    for (const line of masked(wanted)) await process.says(patternOf(line));
  }

  async #stopNode(): Promise<void> {
    const node = this.#running.get('node') as Running;
    node.child.kill('SIGINT');
    assert.deepEqual(await node.ended, { code: 0, signal: null }, node.stderr);
    assert.match(node.stdout, /Stopped after/);
  }

  /** Nothing of it is left. */
  tidy(): void {
    for (const trace of ['.leasehold', 'cert.pem', 'key.pem']) assert.ok(!existsSync(join(this.#one, trace)), trace);
  }
}

/** A masked line, in what a process says. */
function patternOf(line: string): RegExp {
  const marks: Readonly<Record<string, string>> = { ID: 'task_[\\da-f-]{36}', TOOK: '[\\d,]+ ms' };
  const source = RegExp.escape(line).replaceAll(/ID|TOOK/g, (mark) => marks[mark] as string);
  return new RegExp(source.replaceAll('ADDRESS', '[\\d.]+').replaceAll('\\x20', '\\s+'), 'm');
}

const skip = noOpenssl() || noSecondMachine();

test('a host is added as the guide says, word by word, over a network of its own', {
  skip,
  timeout: 600_000,
}, async (t) => {
  const walk = new Walk(t);
  for (const block of blocksOf(readFileSync(PAGE, 'utf8'))) await walk.step(block);
  walk.tidy();
});
