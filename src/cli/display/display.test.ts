import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Figures, QueueFigures } from '../kit/figures.ts';
import type { Banner } from './display.ts';
import { JsonDisplay } from './json.ts';
import { PlainDisplay } from './plain.ts';
import { renderBlock, ScreenDisplay } from './screen.ts';

const banner: Banner = {
  version: '1.2.3',
  address: 'http://127.0.0.1:7420',
  login: () => 'http://127.0.0.1:7420/ui/#code=lh_login_x',
  store: 'd/leasehold.db',
  pid: 7,
};
const plainStyle = (_format: string, text: string): string => text;

function queue(name: string, rest: Partial<QueueFigures> = {}): QueueFigures {
  const none = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 };
  return { name, paused: false, ...none, perSecond: 0, ...rest };
}

function figures(uptimeMs: number, ...queues: readonly QueueFigures[]): Figures {
  return { queues, duties: ['stager', 'reaper'], storeBytes: 1_500_000, uptimeMs };
}

const block = (shown: Figures, columns: number, rows: number): readonly string[] =>
  renderBlock(shown, banner, { size: () => ({ columns, rows }), style: plainStyle });

test('the block shows each queue, the duties, the store and the uptime', () => {
  const emails = queue('emails', { ready: 1234, running: 8, completed: 99, failed: 1, perSecond: 42 });
  assert.deepEqual(block(figures(65_000, emails, queue('papers', { paused: true })), 100, 24), [
    '',
    '  queue             ready   running   scheduled   completed   failed   rate',
    '  emails            1,234         8           0          99        1   42/s',
    '  papers (paused)       0         0           0           0        0    0/s',
    '',
    '  duties   stager, reaper',
    '  store    d/leasehold.db   1.5 MB',
    '  uptime   1m 5s',
  ]);
});

test('the block never exceeds the terminal: columns and queues give way, the busiest queues last', () => {
  const many = Array.from({ length: 40 }, (_, i) =>
    queue(`queue-with-a-rather-long-name-${i}`, { running: i === 17 ? 3 : 0 }),
  );
  for (const columns of [20, 40, 60, 80, 200]) {
    for (const rows of [10, 14, 24, 60]) {
      const lines = block(figures(1000, ...many), columns, rows);
      assert.ok(lines.length < rows, `${lines.length} lines in ${rows} rows`);
      for (const line of lines) assert.ok(line.length <= columns, `${line.length} columns in ${columns}`);
    }
  }
  const lines = block(figures(1000, ...many), 100, 14);
  assert.equal(lines.filter((line) => line.includes('queue-with')).length, 4);
  assert.ok(lines.some((line) => /queue-with-a-rather-long-name-17 .* 3 /.test(line)));
  assert.ok(lines.includes('  … and 36 more'));
});

test('a node without queues says so, and one without duties says who has them', () => {
  const lines = block({ ...figures(5000), duties: [], storeBytes: undefined }, 80, 24);
  assert.match(lines.join('\n'), /No queues yet/);
  assert.match(lines.join('\n'), /duties {3}none here \(another process holds them\)/);
  assert.match(block({ ...figures(100), duties: [] }, 80, 24).join('\n'), /duties {3}none yet/);
});

test('the screen draws over its last block, and what is said moves up above it', () => {
  let out = '';
  const screen = new ScreenDisplay({
    write: (text) => (out += text),
    size: () => ({ columns: 80, rows: 24 }),
    style: plainStyle,
  });
  screen.started(banner);
  screen.figures(figures(1000, queue('a')));
  out = '';
  screen.warning('a duty failed', { duty: 'reaper' });
  assert.ok(out.startsWith('\u001b[7A\r\u001b[Ja duty failed (duty: reaper)\n\n  queue'), JSON.stringify(out));
  screen.stopping();
  out = '';
  screen.stopped(2000);
  assert.equal(out, '\r\u001b[JStopped after 2s. Everything acknowledged is in d/leasehold.db.\n\u001b[?25h');
});

test('in a pipe figures come only when something changed, and then at most every ten seconds', () => {
  const lines: string[] = [];
  const plain = new PlainDisplay({ write: (text) => lines.push(text) });
  plain.started(banner);
  for (const uptimeMs of [1000, 2000, 12_000]) plain.figures(figures(uptimeMs, queue('a')));
  plain.figures(figures(13_000, queue('a', { ready: 1 })));
  plain.figures(figures(14_000, queue('a', { ready: 2 })));
  plain.figures(figures(23_500, queue('a', { ready: 3, perSecond: 1.5 })));
  plain.stopped(24_000);
  assert.deepEqual(lines, [
    'Leasehold 1.2.3 is up at http://127.0.0.1:7420 on d/leasehold.db; Ctrl-C stops it.\n',
    'Web UI: http://127.0.0.1:7420/ui/ ("leasehold login" prints a link that lets a browser in)\n',
    'up 1s | a: 0 ready, 0 running, 0 scheduled, 0 completed, 0 failed, 0/s | duties: stager, reaper\n',
    'up 13s | a: 1 ready, 0 running, 0 scheduled, 0 completed, 0 failed, 0/s | duties: stager, reaper\n',
    'up 23s | a: 3 ready, 0 running, 0 scheduled, 0 completed, 0 failed, 1.5/s | duties: stager, reaper\n',
    'Stopped after 24s. Everything acknowledged is in d/leasehold.db.\n',
  ]);
});

test('for a program every line is one object that names its event', () => {
  const lines: string[] = [];
  const json = new JsonDisplay({ write: (text) => lines.push(text), wall: () => 5 });
  json.started(banner);
  json.figures(figures(1000, queue('a', { perSecond: undefined })));
  json.figures(figures(2000, queue('a')));
  json.warning('a duty\nfailed', { duty: 'reaper' });
  json.stopping();
  json.stillStopping();
  json.stopped(3000);
  const events = lines.map((line) => JSON.parse(line) as { event: string; at: number });
  assert.deepEqual(
    events.map(({ event }) => event),
    ['started', 'figures', 'warning', 'stopping', 'still-stopping', 'stopped'],
  );
  for (const line of lines) assert.match(line, /^[^\n]+\n$/);
});
