/** A page of a node that notes its long tasks and how long each of its frames took. */
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import type { House } from '../../test/browser/support/house.ts';

export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly cdp: CDPSession;
}

export async function open(browser: Browser, house: House): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(60_000);
  await context.request.post(`${house.url}/ui/login`, {
    data: { token: house.token },
    headers: { 'x-leasehold-ui': '1' },
  });
  const page = await context.newPage();
  await page.addInitScript(`
    globalThis.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask', buffered: true });
    globalThis.frames = [];
    let last;
    const frame = (at) => {
      if (last !== undefined) frames.push(at - last);
      last = at;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  `);
  return { context, page, cdp: await context.newCDPSession(page) };
}

/** What it has noted since it was last asked. */
export async function noted({ page }: Visit): Promise<{ readonly frames: number[]; readonly longTasks: number[] }> {
  return page.evaluate('({ frames: frames.splice(0), longTasks: longTasks.splice(0) })');
}
