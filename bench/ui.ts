/**
 * `npm run bench:ui`: the web UI in a real Chromium. First the frames of the pages of a run with 1,000 steps and of a graph of 2,000 nodes; then, before 100,000 tasks and 1,000 workers,
 * when something is painted, whether scrolling stutters, and what ten minutes of live updates leave in memory. `--only run`, `--only graph` or
 * `--only lists` is one of them. The initial JavaScript is weighed by test/browser/size.test.ts.
 */
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { launch } from '../test/browser/support/chromium.ts';
import { House } from '../test/browser/support/house.ts';
import type { CrowdArgs, CrowdVerbs } from './hub/crowd-child.ts';
import { Helper } from './hub/line.ts';
import { describe } from './machine.ts';
import { appendResults } from './results.ts';
import { note, say, table } from './ui/figures.ts';
import { graphPage } from './ui/graph-page.ts';
import { runPage } from './ui/run-page.ts';
import { open } from './ui/visit.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: true },
    only: { type: 'string' },
  },
  allowNegative: true,
});
const TASKS = flags.quick ? 10_000 : 100_000;
const WORKERS = flags.quick ? 100 : 1_000;
const LIVE_MINUTES = flags.quick ? 1 : 10;
const LIVE_PER_SECOND = 20;
const AT_ONCE = 5_000;
const LOADS = 5;
/** What each page is opened for. */
const WHAT = { overview: '.figures', tasks: '.vt-row', workers: '.vt-row' } as const;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const ends: (() => unknown)[] = [];
const started = performance.now();
let failed = false;
try {
  const house = await House.open({ after: (end) => void ends.push(end) }, { args: ['--push-rate', '0'] });
  const machine = describe(house.folder, 'SQLite');
  say(machine);
  const browser = await launch();
  ends.push(() => browser.close());
  const liveMs = flags.quick ? 5_000 : 30_000;
  if (flags.only === undefined || flags.only === 'run') await runPage(browser, house, liveMs);
  if (flags.only === undefined || flags.only === 'graph') await graphPage(browser, house, liveMs);
  if (flags.only === undefined || flags.only === 'lists') {
    await fill(house);
    for (const [name, path] of [
      ['overview', '/'],
      ['tasks', '/tasks'],
      ['workers', '/workers'],
    ] as const)
      await paint(browser, house, name, path);
    await scroll(browser, house, 'tasks', '/tasks', flags.quick ? 60 : 300);
    await scroll(browser, house, 'workers', '/workers', flags.quick ? 20 : 60);
    await live(browser, house);
  }
  console.log(`\n${table()}`);
  if (flags.record && !flags.quick) {
    const minutes = ((performance.now() - started) / 60_000).toFixed(0);
    appendResults(`Web UI · ${new Date().toISOString().slice(0, 16)} · ${minutes} min`, machine, table());
  }
} catch (error) {
  console.error(error);
  failed = true;
} finally {
  for (const end of ends.toReversed()) await end();
}
process.exit(failed ? 1 : 0);

/** So many tasks that stay where they are, and so many workers that have come. */
async function fill(house: House): Promise<void> {
  const args: CrowdArgs = { address: house.url, admin: house.token, queue: 'crowd', prefix: 'crowd', slots: 1 };
  const crowd = new Helper<CrowdVerbs>('./crowd-child.ts', args);
  ends.push(() => crowd.kill());
  await crowd.ask('join', { from: 0, to: WORKERS });
  say(`${WORKERS} workers have joined`);
  await house.call('pauseQueue', { params: { queue: 'bulk' } });
  for (let from = 0; from < TASKS; from += AT_ONCE) {
    const tasks = Array.from({ length: AT_ONCE }, (_, i) => ({
      queue: 'bulk',
      handler: 'echo',
      input: { n: from + i, text: 'some input of a task' },
    }));
    await house.call('pushTasks', { body: { tasks } });
  }
  say(`${TASKS} tasks wait`);
}

/** With an empty cache: the first paint, and when what was asked for is there. */
async function paint(browser: Browser, house: House, name: keyof typeof WHAT, path: string): Promise<void> {
  const paints: number[] = [];
  const shown: number[] = [];
  for (let i = 0; i < LOADS; i++) {
    const { context, page } = await open(browser, house);
    const from = performance.now();
    await page.goto(`${house.url}/ui${path}`);
    await page.locator(WHAT[name]).first().waitFor();
    shown.push(performance.now() - from);
    paints.push(
      await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`),
    );
    await context.close();
  }
  note(`${name}: first paint, median of ${LOADS}`, Math.round(median(paints)), 'ms', 2_000);
  note(`${name}: what was asked for is shown`, Math.round(median(shown)), 'ms', 2_000);
}

/** By the wheel, through everything that is loaded on the way. */
async function scroll(
  browser: Browser,
  house: House,
  name: 'tasks' | 'workers',
  path: string,
  turns: number,
): Promise<void> {
  const { context, page } = await open(browser, house);
  await page.goto(`${house.url}/ui${path}`);
  await page.locator('.vt-row').first().waitFor();
  await page.waitForLoadState('networkidle', { timeout: 5_000 }).catch(() => {});
  await page.evaluate('longTasks.length = 0');
  await page.mouse.move(700, 500);
  for (let i = 0; i < turns; i++) {
    await page.mouse.wheel(0, 4_000);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  }
  const long = await page.evaluate<number[]>('longTasks');
  const rows = Number(await page.locator('.vt').getAttribute('aria-rowcount')) - 1;
  say(`${name}: ${rows} rows after ${turns} turns; long tasks: ${long.map(Math.round).join(' ') || 'none'}`);
  note(
    `${name}: longest task while scrolling through ${rows.toLocaleString('en')} rows`,
    Math.max(0, ...long),
    'ms',
    100,
  );
  await context.close();
}

/** The list of tasks is looked at while tasks come and end. */
async function live(browser: Browser, house: House): Promise<void> {
  const { context, page, cdp } = await open(browser, house);
  await page.goto(`${house.url}/ui/tasks`);
  await page.locator('.vt-row').first().waitFor();
  const heap = async (): Promise<number> => {
    await cdp.send('HeapProfiler.collectGarbage');
    return (await cdp.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const samples: number[] = [];
  const began = performance.now();
  const until = began + LIVE_MINUTES * 60_000;
  await page.evaluate('longTasks.length = 0');
  for (let pushed = 0; performance.now() < until; ) {
    await house.push({ queue: 'live', handler: 'echo', input: { n: pushed++ } });
    const wait = began + (pushed / LIVE_PER_SECOND) * 1000 - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    if (performance.now() - began > samples.length * (flags.quick ? 10_000 : 60_000)) samples.push(await heap());
  }
  samples.push(await heap());
  const long = await page.evaluate<number[]>('longTasks');
  say(`heap after each minute (MB): ${samples.map((mb) => mb.toFixed(1)).join(' ')}`);
  // The first minute fills caches that have a bound.
  const third = Math.max(1, Math.floor(samples.length / 3));
  const early = median(samples.slice(1, 1 + third));
  const late = median(samples.slice(-third));
  note(`tasks: heap after collection, early in ${LIVE_MINUTES} min of ${LIVE_PER_SECOND} tasks a second`, early, 'MB');
  note('tasks: heap after collection, late', late, 'MB', Math.round(early * 1.1 * 10) / 10);
  note('tasks: longest task meanwhile', Math.max(0, ...long), 'ms');
  await context.close();
}
