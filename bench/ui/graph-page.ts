/** The page of a run of a graph of 2,000 nodes: how long its frames take while it is loaded, moved and zoomed, and while nodes end. */
import type { Browser, Page } from 'playwright-core';
import { layers } from '../../test/browser/support/graphs.ts';
import type { House } from '../../test/browser/support/house.ts';
import { picture } from '../../test/browser/support/pictures.ts';
import { percentile } from '../figures.ts';
import { note, say } from './figures.ts';
import { noted, open } from './visit.ts';

const NODES = 2_000;
const LOAD_MS = 5_000;
const [MOST_FRAME_MS, MOST_TASK_MS] = [50, 200];

export async function graphPage(browser: Browser, house: House, liveMs: number): Promise<void> {
  const ended = await house.call('startRun', { body: { graph: layers(NODES, 0) } });
  for (let state = ''; state !== 'completed'; await rest(1_000)) ({ state } = await house.task(ended.id));
  const visit = await open(browser, house);
  const { page } = visit;
  const from = performance.now();
  await page.goto(`${house.url}/ui/runs/${ended.id}`);
  await page.locator('.graph-sum', { hasText: 'done' }).waitFor();
  await rest(from + LOAD_MS - performance.now());
  await tell(visit, 'loaded');
  await drag(page, 120);
  await tell(visit, 'all of it dragged');
  for (let i = 0; i < 6; i++) await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.getByRole('option').nth(10).waitFor();
  await noted(visit);
  await drag(page, 120);
  await tell(visit, 'dragged where names can be read');
  await zoom(page, 60);
  await tell(visit, 'zoomed out and in');
  await picture(page, 'bench-graph');
  await visit.context.close();
  await watch(browser, house, liveMs);
}

/** Its tasks end all the time that it is looked at. */
async function watch(browser: Browser, house: House, liveMs: number): Promise<void> {
  const { id } = await house.call('startRun', { body: { graph: layers(NODES, liveMs / 6) } });
  const visit = await open(browser, house);
  await visit.page.goto(`${house.url}/ui/runs/${id}`);
  await visit.page.locator('.graph-sum', { hasText: 'running' }).waitFor();
  await rest(2_000);
  await noted(visit);
  await rest(liveMs);
  await tell(visit, 'live');
  await house.call('cancelRun', { params: { id }, body: {} });
  await visit.context.close();
}

/** A frame for each move. */
async function drag(page: Page, moves: number): Promise<void> {
  const box = await page.locator('.graph-box').boundingBox();
  if (box === null) throw new Error('the graph is not to be seen');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 1; i <= moves; i++) {
    const by = 300 * Math.sin((i / moves) * 2 * Math.PI);
    await page.mouse.move(x + by, y + by / 3);
    await frame(page);
  }
  await page.mouse.up();
}

async function zoom(page: Page, turns: number): Promise<void> {
  await page.keyboard.down('Control');
  for (const by of [40, -40])
    for (let i = 0; i < turns; i++) {
      await page.mouse.wheel(0, by);
      await frame(page);
    }
  await page.keyboard.up('Control');
}

const frame = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');

async function tell(visit: Awaited<ReturnType<typeof open>>, what: string): Promise<void> {
  const { frames, longTasks } = await noted(visit);
  const measure = `graph of ${NODES.toLocaleString('en')} nodes, ${what}`;
  const at = (percent: number): number => percentile(frames, percent) ?? Number.NaN;
  say(`${what}: ${frames.length} frames; long tasks: ${longTasks.map(Math.round).join(' ') || 'none'}`);
  note(`${measure}: a frame, median`, at(50), 'ms');
  note(`${measure}: a frame, p99`, at(99), 'ms', MOST_FRAME_MS);
  note(`${measure}: worst frame`, at(100), 'ms');
  note(`${measure}: longest task`, Math.max(0, ...longTasks), 'ms', MOST_TASK_MS);
}

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
