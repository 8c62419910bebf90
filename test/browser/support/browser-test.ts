/** Tests of one file share a node and a browser; each has a page of its own, in which nothing may go wrong. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, WITHOUT_BROWSER } from './chromium.ts';
import { House, type HouseOptions } from './house.ts';
import { Visit, type VisitOptions } from './visit.ts';

export interface Scene {
  readonly house: House;
  readonly visit: Visit;
  readonly page: Page;
  /** One more page, with a session of its own. */
  readonly another: (options?: VisitOptions) => Promise<Visit>;
}

interface Plan extends HouseOptions {
  /** What is there before the first test. */
  readonly furnish?: (house: House) => Promise<void>;
}

type Body = (scene: Scene) => Promise<void>;

/** Makes tests of this file: the first of them opens the node, all of them have it. */
export function houseOfThisFile(
  options: Plan = {},
): (body: Body, visiting?: VisitOptions) => (t: TestContext) => Promise<void> {
  const ends: (() => unknown)[] = [];
  let opened: Promise<{ readonly house: House; readonly browser: Browser }> | undefined;
  const open = async (): Promise<{ readonly house: House; readonly browser: Browser }> => {
    const browser = await launch();
    ends.push(() => browser.close());
    const house = await House.open({ after: (end) => void ends.push(end) }, options);
    await options.furnish?.(house);
    return { house, browser };
  };
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return (body, visiting = {}) =>
    async (t) => {
      if (WITHOUT_BROWSER !== undefined) return t.skip(WITHOUT_BROWSER);
      const { house, browser } = await (opened ??= open());
      const visits: Visit[] = [];
      const another = async (more: VisitOptions = visiting): Promise<Visit> => {
        const visit = await Visit.open(browser, house, more);
        visits.push(visit);
        return visit;
      };
      const visit = await another();
      const saidBefore = house.said.length;
      try {
        await body({ house, visit, page: visit.page, another });
        assert.deepEqual(
          visits.flatMap(({ troubles }) => troubles),
          [],
        );
        const { forgive = [] } = visiting;
        const reports = house.said.slice(saidBefore).match(/^.*a browser blocked something on a page.*$/gm) ?? [];
        assert.deepEqual(
          reports.filter((report) => !forgive.some((pattern) => pattern.test(report))),
          [],
          'CSP reports have come to the node',
        );
      } catch (error) {
        await tellWhatWasSeen(t, visits);
        throw error;
      } finally {
        for (const one of visits) await one.close();
      }
    };
}

/** What there was to see when it failed, on each of its pages. */
async function tellWhatWasSeen(t: TestContext, visits: readonly Visit[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-browser-'));
  for (const [i, { page, troubles }] of visits.entries()) {
    const file = join(folder, `${t.name.replaceAll(/\W+/g, '-').slice(0, 80)}-${i}.png`);
    const seen = await page.screenshot({ path: file, timeout: 5_000 }).then(
      () => file,
      () => 'no picture',
    );
    t.diagnostic([`${t.name}: at ${page.url()}, seen in ${seen}`, ...troubles].join('\n'));
  }
}
