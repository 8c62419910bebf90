/** A day of each kind as a picture: how many workers were there, by who decides it. */
import { DAY } from './days.ts';
import type { Outcome } from './simulate.ts';

const SHOWN: Readonly<Record<string, string>> = {
  'threshold rule': '#c2410c',
  ours: '#1d4ed8',
};
const [WIDTH, HEIGHT, LEFT, TOP, GAP] = [880, 130, 40, 40, 46];
const MOST = 44;

export function chartOf(days: ReadonlyMap<string, ReadonlyMap<string, Outcome>>): string {
  const height = TOP + days.size * (HEIGHT + GAP);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + LEFT + 20} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>Workers over a day, by who decides how many there are</title>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    legend(),
  ];
  let top = TOP;
  for (const [name, outcomes] of days) {
    parts.push(panel(name, outcomes, top));
    top += HEIGHT + GAP;
  }
  return `${parts.join('\n')}\n</svg>\n`;
}

function legend(): string {
  return Object.entries(SHOWN)
    .map(
      ([name, colour], i) =>
        `<line x1="${LEFT + i * 150}" x2="${LEFT + 24 + i * 150}" y1="16" y2="16" stroke="${colour}" stroke-width="2"/><text x="${LEFT + 30 + i * 150}" y="20">${name}</text>`,
    )
    .join('\n');
}

function panel(name: string, outcomes: ReadonlyMap<string, Outcome>, top: number): string {
  const x = (at: number): string => (LEFT + (WIDTH * Math.min(at, DAY)) / DAY).toFixed(1);
  const y = (workers: number): string => (top + HEIGHT - (HEIGHT * workers) / MOST).toFixed(1);
  const grid = [0, 10, 20, 30, 40].map(
    (n) =>
      `<line x1="${LEFT}" x2="${LEFT + WIDTH}" y1="${y(n)}" y2="${y(n)}" stroke="#e5e7eb"/><text x="${LEFT - 6}" y="${Number(y(n)) + 4}" text-anchor="end" fill="#4b5563">${n}</text>`,
  );
  const hours = [0, 6, 12, 18, 24].map(
    (hour) =>
      `<text x="${x(hour * 3600)}" y="${top + HEIGHT + 16}" text-anchor="middle" fill="#4b5563">${hour}:00</text>`,
  );
  const curves = Object.entries(SHOWN).flatMap(([policy, colour]) => {
    const sizes = outcomes.get(policy)?.sizes ?? [];
    // Of all that happens in one picture point only the most is seen.
    const points = new Map<string, number>();
    for (const [at, workers] of sizes) points.set(x(at), Math.max(workers, points.get(x(at)) ?? 0));
    const path = [...points].map(([at, workers], i) => {
      return i === 0 ? `M${at} ${y(workers)}` : `H${at}V${y(workers)}`;
    });
    return [`<path d="${path.join('')}H${x(DAY)}" fill="none" stroke="${colour}" stroke-width="1.3"/>`];
  });
  return [`<text x="${LEFT}" y="${top - 6}" font-weight="600">${name}</text>`, ...grid, ...hours, ...curves].join('\n');
}
