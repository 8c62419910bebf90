/** The table of `bench:ui`. */
const lines = ['| measure | figure | wanted | |', '|---|---:|---:|---|'];

export const say = (text: string): void => void process.stderr.write(`${text}\n`);

export function note(measure: string, figure: number, unit: string, most?: number): void {
  const wanted =
    most === undefined ? '|  |' : `${most.toLocaleString('en')} ${unit} | ${figure <= most ? 'met' : 'MISSED'} |`;
  lines.push(
    `| ${measure} | ${figure.toLocaleString('en', { maximumFractionDigits: 1 })} ${unit} | ${most === undefined ? wanted : `≤ ${wanted}`}`,
  );
  say(lines.at(-1) ?? '');
}

export const table = (): string => lines.join('\n');
