/** The page of a run with 1,000 steps: how long its frames take while it is loaded, scrolled, and while the run goes on. */
import type { Browser, Page } from 'playwright-core';
import type { House } from '../../test/browser/support/house.ts';
import { picture } from '../../test/browser/support/pictures.ts';
import { percentile } from '../figures.ts';
import { note, say } from './figures.ts';
import { noted, open, type Visit } from './visit.ts';

const STEPS = 1_000;
/** Of the load: from the address until the page has been there for a while. */
const LOAD_MS = 6_000;
const LOADS = 3;
/** Events of other tasks, which every page gets. */
const OTHERS_PER_SECOND = 20;
const [MOST_FRAME_MS, MOST_TASK_MS] = [50, 200];

const document = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });

/** Counts to `input.steps`. From there on each round has a child of two steps, until somebody cancels the run. */
const GROWING = document({
  name: 'growing',
  settings: { max_steps: 100_000 },
  machines: {
    part: document({
      name: 'part',
      context: { holdMs: 20 },
      states: {
        first: { type: 'initial', action: 'hold', transitions: [{ to: 'second' }] },
        second: { action: 'hold', transitions: [{ to: 'end' }] },
        end: { type: 'final', output: { ok: true } },
      },
    }),
  },
  context: { count: 0 },
  states: {
    up: {
      type: 'initial',
      action: 'count',
      transitions: [
        { to: 'end', condition: 'input.ends == true and context.count >= input.steps' },
        { to: 'part', condition: 'context.count >= input.steps' },
        { to: 'up' },
      ],
    },
    part: { machine: 'part', transitions: [{ to: 'again' }] },
    again: { action: 'count', transitions: [{ to: 'part' }] },
    end: { type: 'final', output: { count: '{{ context.count }}' } },
  },
});

const start = async (house: House, ends: boolean): Promise<string> =>
  (await house.call('startRun', { body: { machine: GROWING, input: { steps: STEPS, ends } } })).id;

/** `liveMs`: how long a run that goes on is looked at. */
export async function runPage(browser: Browser, house: House, liveMs: number): Promise<void> {
  const ended = await start(house, true);
  await house.becomes(ended, 'completed');
  await load(browser, house, ended);
  const visit = await shown(browser, house, ended);
  await scroll(visit);
  await picture(visit.page, 'bench-run');
  await visit.context.close();
  await watch(browser, house, liveMs);
}

async function shown(browser: Browser, house: House, id: string): Promise<Visit> {
  const visit = await open(browser, house);
  await visit.page.goto(`${house.url}/ui/runs/${id}`);
  await stepsOf(visit.page)
    .locator('.count', { hasText: (STEPS + 1).toLocaleString('en') })
    .waitFor();
  return visit;
}

const stepsOf = (page: Page) => page.getByRole('region', { name: 'Steps' });

async function load(browser: Browser, house: House, id: string): Promise<void> {
  const [frames, longTasks]: [number[], number[]] = [[], []];
  for (let i = 0; i < LOADS; i++) {
    const visit = await open(browser, house);
    const from = performance.now();
    await visit.page.goto(`${house.url}/ui/runs/${id}`);
    await stepsOf(visit.page)
      .locator('.count', { hasText: (STEPS + 1).toLocaleString('en') })
      .waitFor();
    await rest(from + LOAD_MS - performance.now());
    const one = await noted(visit);
    frames.push(...one.frames);
    longTasks.push(...one.longTasks);
    await visit.context.close();
  }
  tell(`loaded ${LOADS} times`, frames, longTasks);
}

/** Through all steps and back by the wheel, once more with a scale of its own for the rows that are seen, and through the page. */
async function scroll(visit: Visit): Promise<void> {
  const { page } = visit;
  const box = page.getByRole('tree');
  await rest(1_000);
  await noted(visit);
  await wheel(page, 150, 200);
  const far = await box.evaluate(
    ({ scrollTop, scrollHeight, clientHeight }) => scrollTop + clientHeight >= scrollHeight,
  );
  if (!far) throw new Error('the wheel did not come to the last step');
  await wheel(page, 150, -200);
  let got = await noted(visit);
  tell('its steps scrolled', got.frames, got.longTasks);
  await stepsOf(page).getByRole('button', { name: 'Zoom to rows' }).click();
  await noted(visit);
  await wheel(page, 150, 200);
  await wheel(page, 150, -200);
  got = await noted(visit);
  tell('its steps scrolled, zoomed to rows', got.frames, got.longTasks);
  await box.focus();
  await noted(visit);
  for (let i = 0; i < 150; i++) await page.keyboard.press(i % 2 === 0 ? 'PageDown' : 'ArrowDown');
  got = await noted(visit);
  tell('walked through by keys', got.frames, got.longTasks);
}

/** A frame for each turn. */
async function wheel(page: Page, turns: number, by: number): Promise<void> {
  const box = await page.getByRole('tree').boundingBox();
  if (box === null) throw new Error('the steps are not to be seen');
  await page.mouse.move(box.x + box.width / 2, box.y + Math.min(box.height / 2, 60));
  for (let i = 0; i < turns; i++) {
    await page.mouse.wheel(0, by);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
  }
}

/** A run that has its 1,000 steps goes on: first it is only looked at, then scrolled as well. */
async function watch(browser: Browser, house: House, liveMs: number): Promise<void> {
  const id = await start(house, false);
  await house.until(async () => Number((await run(house, id)).step) > STEPS, 'the run has its steps');
  const others = setInterval(
    () => void house.push({ queue: 'live', handler: 'echo', input: {} }).catch(() => {}),
    1_000 / OTHERS_PER_SECOND,
  );
  const visit = await open(browser, house);
  await visit.page.goto(`${house.url}/ui/runs/${id}`);
  await visit.page.locator('.wf-row').first().waitFor();
  await rest(3_000);
  await noted(visit);
  const before = Number((await run(house, id)).step);
  await rest(liveMs);
  const looked = await noted(visit);
  const until = performance.now() + liveMs;
  while (performance.now() < until) {
    await wheel(visit.page, 60, 200);
    await wheel(visit.page, 60, -200);
  }
  const scrolled = await noted(visit);
  const after = Number((await run(house, id)).step);
  await picture(visit.page, 'bench-run-live');
  clearInterval(others);
  await house.call('cancelRun', { params: { id }, body: {} });
  await visit.context.close();
  const perSecond = ((after - before) / (2 * liveMs)) * 1_000;
  say(`the live run made ${perSecond.toFixed(1)} steps a second`);
  tell(`live, ${Math.round(perSecond)} steps a second`, looked.frames, looked.longTasks);
  tell('live, and scrolled', scrolled.frames, scrolled.longTasks);
}

const run = (house: House, id: string) => house.call('getRun', { params: { id } });

function tell(what: string, frames: readonly number[], longTasks: readonly number[]): void {
  const measure = `run of ${STEPS.toLocaleString('en')} steps, ${what}`;
  const at = (percent: number): number => percentile(frames, percent) ?? Number.NaN;
  say(`${what}: ${frames.length} frames; long tasks: ${longTasks.map(Math.round).join(' ') || 'none'}`);
  note(`${measure}: a frame, median`, at(50), 'ms');
  note(`${measure}: a frame, p99`, at(99), 'ms', MOST_FRAME_MS);
  note(`${measure}: worst frame`, at(100), 'ms');
  note(`${measure}: longest task`, Math.max(0, ...longTasks), 'ms', MOST_TASK_MS);
}

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
