/** "Talk to it", block by block, as somebody copies them into a terminal beside a real node. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROOT, type Running } from '../../support/leasehold.ts';
import { promtool } from '../../support/promtool.ts';
import {
  type Block,
  blocksOf,
  Clone,
  freePort,
  interrupt,
  jsonHas,
  linesAgree,
  patternOf,
  shows,
} from './guide-pages.ts';

/** Names the spans that it was sent, with their services and traces. */
async function collector(t: TestContext): Promise<{ readonly port: string; readonly spans: string[] }> {
  interface Sent {
    readonly resourceSpans: readonly {
      readonly resource: { readonly attributes: readonly { key: string; value: { stringValue?: string } }[] };
      readonly scopeSpans: readonly {
        readonly spans: readonly { readonly name: string; readonly traceId: string }[];
      }[];
    }[];
  }
  const spans: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      for (const { resource, scopeSpans } of (JSON.parse(text) as Sent).resourceSpans) {
        const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue;
        for (const scope of scopeSpans)
          spans.push(...scope.spans.map(({ name, traceId }) => `${service} ${name} ${traceId}`));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { port: String((server.address() as AddressInfo).port), spans };
}

/** Who reads the page and does what it says. */
class Reader {
  readonly clone: Clone;
  /** The last commands, and what they have shown. */
  #commands: Block | undefined;
  shown = '';
  #node: Running | undefined;
  #stream: Running | undefined;

  constructor(t: TestContext, port: string) {
    this.clone = new Clone(t, { LEASEHOLD_PORT: port });
  }

  async step(block: Block): Promise<void> {
    const { kind, where, text } = block;
    if (kind === 'ts' || kind === 'yaml') this.clone.write(where, text);
    else if (kind === 'sh') await this.#run(block);
    else if (where === 'stream') await this.#streams(text);
    else await this.#compare(block);
  }

  async #run({ where, text }: Block): Promise<void> {
    if (where === 'node') {
      await this.stop();
      this.#node = this.clone.start(text);
      await this.#node.says(/is up at/);
    } else if (where === 'stream') {
      this.#stream = this.clone.start(text);
    } else {
      if (where === 'end') await this.stop();
      this.#commands = { kind: 'sh', where, text };
      this.shown = await this.clone.say(text);
    }
  }

  async #compare(block: Block): Promise<void> {
    assert.ok(this.#commands);
    const { where, text } = this.#commands;
    if (where === 'look') this.shown = await this.clone.look(text, (shown) => shows(block, shown));
    else assert.ok(shows(block, this.shown), `${text}shows\n${this.shown}\nand not\n${block.text}`);
  }

  /** The lines of a stream that does not end by itself, in this order. */
  async #streams(wanted: string): Promise<void> {
    assert.ok(this.#stream);
    const lines = wanted.trimEnd().split('\n');
    await this.#stream.says(new RegExp(lines.map((line) => `^${patternOf(line, '[^"]*?')}$`).join('[^]*?'), 'm'));
    await interrupt(this.#stream);
  }

  /** Ctrl-C in the terminal of the node. */
  async stop(): Promise<void> {
    if (this.#node === undefined) return;
    await interrupt(this.#node);
    assert.match(this.#node.stdout, /Stopped after/);
    this.#node = undefined;
  }
}

/** What the programs of the page look like to the compiler. */
function complaints(clone: Clone, files: readonly string[]): string {
  const config = { extends: './tsconfig.json', include: files, exclude: [] };
  clone.write('tsconfig.page.json', JSON.stringify(config));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', 'tsconfig.page.json'], { cwd: clone.cwd, encoding: 'utf8' }).stdout;
}

test('everything on "Talk to it" works as it stands, and shows what it says', { timeout: 240_000 }, async (t) => {
  const [port, { port: otlp, spans }] = [String(await freePort()), await collector(t)];
  const blocks = blocksOf('talk-to-it.md', { 7420: port, 4318: otlp });
  const reader = new Reader(t, port);
  const programs = blocks.filter(({ kind }) => kind === 'ts');
  for (const { where, text } of programs) reader.clone.write(where, text);
  assert.equal(
    complaints(
      reader.clone,
      programs.map(({ where }) => where),
    ),
    '',
  );
  const seen: string[] = [];
  for (const block of blocks) {
    if (block.where === 'end') {
      await reader.stop();
      checkConfig(t, reader.clone);
    }
    await reader.step(block);
    if (block.kind === 'sh') seen.push(reader.shown);
  }
  const [first, second, ...more] = (seen.find((shown) => /^task_.*\ntask_/.test(shown)) ?? '').trimEnd().split('\n');
  assert.deepEqual([first, more], [second, []], 'a repeat under one key gets the same task');
  const [, trace = ''] = /00-([0-9a-f]{32})-/.exec(seen.join('\n')) ?? [];
  const named = spans.filter((span) => span.endsWith(trace)).toSorted();
  assert.deepEqual(
    named,
    ['push', 'run', 'wait'].map((word) => `tasks ${word} shell ${trace}`),
  );
  const [task = ''] = /task_[\da-f-]{36}/.exec(seen.at(-2) ?? '') ?? [];
  assert.equal(task.slice('task_'.length).replaceAll('-', ''), trace);
  for (const { where } of [...programs, { where: '.leasehold' }, { where: 'prometheus.yml' }])
    assert.ok(!existsSync(join(reader.clone.cwd, where)), where);
});

/** Prometheus takes the file that the page shows. */
function checkConfig(t: TestContext, { cwd }: Clone): void {
  const said = promtool(['check', 'config', 'prometheus.yml'], cwd);
  if (said === undefined) t.diagnostic('there is no promtool');
  else assert.equal(said, '');
}

test('what a page shows is compared strictly enough to find a lie', () => {
  assert.ok(jsonHas({ a: 1, b: [{ id: 'task_7' }, 2] }, { b: [{ id: 'task_…' }] }));
  for (const [shown, wanted] of [
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: [1] }, { a: [] }],
    [
      [1, 2],
      [2, 1],
    ],
    [{ id: 'x' }, { id: 'task_…' }],
    [null, {}],
  ])
    assert.ok(!jsonHas(shown, wanted), JSON.stringify([shown, wanted]));
  assert.ok(linesAgree('a 1 "x"\n\nb\n', 'a … "x"\nb\n'));
  for (const wanted of ['a … "y"\nb\n', 'a … "x"\n', 'b\na … "x"\n', 'a … "x"\nb\nc\n'])
    assert.ok(!linesAgree('a 1 "x"\n\nb\n', wanted), wanted);
});
