/** As much of PromQL as is needed to see whether a query is about figures that there are, in a way that suits their kind. */

export type Kind = 'counter' | 'gauge' | 'histogram';

export interface Figure {
  readonly kind: Kind;
  readonly labels: ReadonlySet<string>;
}

/** The words in front of brackets that make a rate of something that only grows. */
const RATES: ReadonlySet<string> = new Set(['rate', 'irate', 'increase']);
/** Those for figures that go up and down. */
const CHANGES: ReadonlySet<string> = new Set(['delta', 'idelta', 'deriv', 'changes']);
/** What the scraper adds. */
const SCRAPED: readonly string[] = ['job', 'instance'];
const PARTS = /_(bucket|sum|count)$/;

interface Selector {
  readonly name: string;
  readonly labels: readonly string[];
  readonly ranged: boolean;
  /** The functions and aggregations around it, the nearest first. */
  readonly within: readonly string[];
}

/** Everything that is wrong with a query, as far as can be told without running it. */
export function problemsOf(query: string, figures: ReadonlyMap<string, Figure>): readonly string[] {
  const selectors = selectorsOf(query);
  const found = selectors.map((one) => ({ ...one, figure: figureOf(one.name, figures) }));
  const known = new Set([...SCRAPED, ...found.flatMap(({ figure }) => [...(figure?.labels ?? [])])]);
  const grouped = [...query.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  return [
    ...(selectors.length === 0 ? ['it is about none of the figures'] : []),
    ...found.flatMap((one) => problemsOfSelector(one)),
    ...grouped.filter((label) => !known.has(label)).map((label) => `none of it has the label ${label}`),
    ...problemsOfQuantiles(query, selectors),
  ];
}

function figureOf(name: string, figures: ReadonlyMap<string, Figure>): Figure | undefined {
  const own = figures.get(name);
  if (own !== undefined) return own;
  const whole = figures.get(name.replace(PARTS, ''));
  if (whole?.kind !== 'histogram' || !PARTS.test(name)) return undefined;
  return name.endsWith('_bucket') ? { ...whole, labels: new Set([...whole.labels, 'le']) } : whole;
}

function problemsOfSelector({ name, labels, ranged, within, figure }: Selector & { figure: Figure | undefined }) {
  if (figure === undefined) return [`there is no ${name}`];
  const { kind } = figure;
  const [nearest = ''] = within;
  const grows = kind === 'counter' || PARTS.test(name);
  const problems = labels
    .filter((label) => !figure.labels.has(label) && !SCRAPED.includes(label))
    .map((label) => `${name} has no label ${label}`);
  if (kind === 'histogram' && !grows) problems.push(`${name} is a histogram: ask for a part of it`);
  if (grows && !RATES.has(nearest)) problems.push(`${name} only grows: ask for its rate`);
  if (kind === 'gauge' && RATES.has(nearest)) problems.push(`${name} goes up and down: it has no rate`);
  if (ranged !== (RATES.has(nearest) || CHANGES.has(nearest) || nearest.endsWith('_over_time')))
    problems.push(`${name} in ${nearest || 'nothing'}: a range belongs to a rate`);
  return problems;
}

/** Quantiles are made of buckets, and these have to be told apart. */
function problemsOfQuantiles(query: string, selectors: readonly Selector[]): readonly string[] {
  const of = selectors.filter(({ within }) => within.includes('histogram_quantile'));
  const wrong = of.filter(({ name }) => !name.endsWith('_bucket')).map(({ name }) => `${name} has no buckets`);
  const merged = of.some(({ within }) => within.includes('sum')) && !/\bby\s*\([^)]*\ble\b/.test(query);
  return merged ? [...wrong, 'the buckets are added up: keep le'] : wrong;
}

function selectorsOf(query: string): readonly Selector[] {
  const found: Selector[] = [];
  const open: string[] = [];
  const tokens =
    /(?<call>[a-z_]\w*)\s*(?:(?:by|without)\s*\([^)]*\)\s*)?\(|(?<name>leasehold_\w+)(?:\{(?<labels>(?:[^}"]|"[^"]*")*)\})?(?<range>\[[^\]]*\])?|"[^"]*"|[()]/g;
  for (const { 0: text, groups = {} } of query.matchAll(tokens)) {
    if (groups['call'] !== undefined) open.push(groups['call']);
    else if (text === '(') open.push('');
    else if (text === ')') open.pop();
    else if (groups['name'] !== undefined) {
      const labels = [...(groups['labels'] ?? '').matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"/g)].map(
        ([, label = '']) => label,
      );
      const within = open.filter((word) => word !== '').toReversed();
      found.push({ name: groups['name'], labels, ranged: groups['range'] !== undefined, within });
    }
  }
  return found;
}
