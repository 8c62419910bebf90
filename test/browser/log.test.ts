import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

/** Writes 10,000 lines, no faster than a worker passes them on, each twentieth so long that it breaks; then ten lines a second. */
const LONG = `
for part in $(seq 0 19); do
  awk -v part=$part 'BEGIN { for (i = part * 500 + 1; i <= (part + 1) * 500; i++) {
    printf "line %d", i; if (i % 20 == 0) for (j = 0; j < 60; j++) printf " honey"; print "" } }'
  sleep 0.1
done
for i in $(seq 1 600); do echo "later $i"; sleep 0.1; done`;

interface Seen {
  readonly drawn: number;
  readonly toEnd: number;
  /** The first line that is seen, and how far below the upper edge it begins. */
  readonly first: string;
  readonly top: number;
  /** The widest gap between two lines that follow each other. */
  readonly gap: number;
}

function look(lines: Locator): Promise<Seen> {
  return lines.evaluate((box) => {
    const edge = box.getBoundingClientRect().top;
    const drawn = [...box.querySelectorAll('.log-line')];
    const boxes = drawn.map((line) => line.getBoundingClientRect());
    const first = boxes.findIndex(({ bottom }) => bottom > edge + 1);
    return {
      drawn: drawn.length,
      toEnd: Math.round(box.scrollHeight - box.scrollTop - box.clientHeight),
      first: drawn[first]?.querySelector('span')?.textContent?.slice(0, 12) ?? '',
      top: Math.round((boxes[first]?.top ?? 0) - edge),
      gap: Math.max(...boxes.slice(1).map((line, i) => Math.abs(line.top - (boxes[i]?.bottom ?? 0)))),
    };
  });
}

test(
  'a long log follows its end, stands still where somebody reads, and is searched',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'long', handler: 'shell', input: { command: LONG } });
    await visit.open(`/tasks/${id}`);
    const log = page.getByRole('region', { name: 'Log' });
    const lines = log.getByRole('log');
    await log
      .getByText(/^later \d+$/)
      .first()
      .waitFor();
    const atEnd = await look(lines);
    assert.ok(atEnd.toEnd <= 1, `it follows: ${JSON.stringify(atEnd)}`);
    assert.ok(atEnd.drawn > 20 && atEnd.drawn < 100, `${atEnd.drawn} lines are drawn`);

    // Somebody scrolls up, among lines that were not measured yet; new ones come at the end.
    await lines.hover();
    for (let i = 0; i < 20; i++) await page.mouse.wheel(0, -700);
    const follow = log.getByRole('button', { name: 'Follow' });
    await follow.waitFor();
    await page.waitForTimeout(300);
    const reading = await look(lines);
    assert.ok(reading.toEnd > 10_000 && reading.gap < 1, JSON.stringify(reading));
    assert.match(reading.first, /^line /);
    await page.waitForTimeout(1_500);
    const still = await look(lines);
    assert.deepEqual([still.first, still.top], [reading.first, reading.top], 'what is read stays in its place');

    await follow.click();
    await page.waitForTimeout(300);
    assert.ok((await look(lines)).toEnd <= 1, 'and follows again');

    await log.getByLabel('Search the log').fill('line 2000');
    await log.getByText('1 of 1').waitFor();
    await page.keyboard.press('Enter');
    const hit = lines.locator('.log-line.hit');
    await hit.locator('mark').first().waitFor();
    await page.waitForTimeout(300);
    const [box, found] = [await lines.boundingBox(), await hit.boundingBox()];
    assert.ok(box !== null && found !== null);
    const off = found.y + found.height / 2 - (box.y + box.height / 2);
    assert.ok(Math.abs(off) <= 2, `the line is in the middle, but for ${off} px`);

    // Other breaks in narrow lines: the same one stays in sight.
    await page.setViewportSize({ width: 420, height: 800 });
    await page.waitForTimeout(300);
    const narrow = await hit.boundingBox();
    const inBox = await lines.boundingBox();
    assert.ok(narrow !== null && inBox !== null && narrow.height > found.height, JSON.stringify([found, narrow]));
    assert.ok(narrow.y >= inBox.y && narrow.y + narrow.height <= inBox.y + inBox.height);
    assert.ok((await look(lines)).gap < 1);
    await house.call('cancelTask', { params: { id }, body: {} });
  }),
);
