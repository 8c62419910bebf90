/** `███░░`; something in use is never shown as nothing, and room that is left never as none. */
export function bar(used: number, cap: number, width: number): string {
  if (cap <= 0) return (used > 0 ? '█' : '░').repeat(width);
  const part = Math.round((Math.min(used, cap) / cap) * width);
  const least = used > 0 ? 1 : 0;
  const most = used < cap ? width - 1 : width;
  const filled = Math.max(least, Math.min(most, part));
  return '█'.repeat(filled) + '░'.repeat(Math.max(0, width - filled));
}

const STEPS = '▁▂▃▄▅▆▇█';

/** The last figures as a line; a dot where nothing is known. */
export function spark(series: readonly (number | null)[], width: number): string {
  const shown = series.slice(-width);
  const top = Math.max(0, ...shown.map((figure) => figure ?? 0));
  return shown
    .map((figure) => {
      if (figure === null) return '·';
      return STEPS[top === 0 ? 0 : Math.ceil((figure / top) * (STEPS.length - 1))] as string;
    })
    .join('');
}
