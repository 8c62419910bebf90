/** The dashboard and the alerts, held to the figures that a node has and to Prometheus itself. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DEFAULT_SILENCE } from '../../src/core/node.ts';
import { ROOT, temporaryFolder } from '../support/leasehold.ts';
import { nodeScene } from '../support/node-scene.ts';
import { type Figure, type Kind, problemsOf } from '../support/promql.ts';
import { promtool } from '../support/promtool.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly {
    readonly expr: string;
    readonly legendFormat: string;
    readonly datasource: { readonly uid: string };
  }[];
}

interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
  readonly panels: readonly Panel[];
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const dashboard = JSON.parse(read('docs/grafana/leasehold.json')) as Dashboard;
const shown = dashboard.panels.filter(({ type }) => type !== 'row');
/** As Grafana would ask: it puts something in for each variable. */
const queries = shown.flatMap(({ targets = [] }) => targets.map(({ expr }) => filled(expr)));

function filled(query: string): string {
  return query.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'leasehold').replaceAll('$queue', '.*');
}

/** The figures that the reference page lists, with the labels that a node gives them. */
async function figures(t: TestContext): Promise<ReadonlyMap<string, Figure>> {
  const cluster = {
    id: 'n',
    role: 'auto',
    leaderLeaseMs: 30_000,
    leaderRenewMs: 10_000,
    silence: DEFAULT_SILENCE,
  } as const;
  const node = await nodeScene(t, { cluster });
  await node.service.app.cluster?.watchdog.look();
  await node.engine.limits.set('some', { concurrent: 1 });
  await node.engine.push({ queue: 'q', handler: 'h', limits: ['some'] });
  await node.ask('/api/v1/tasks');
  const text = (await node.ask('/metrics')).body as string;
  const rows = read('docs/reference/metrics.md').matchAll(/^\| `(leasehold_\w+)` \| (\w+) \|/gm);
  return new Map(
    [...rows].map(([, name = '', kind]) => {
      const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'));
      const labels = [...samples].flatMap(([, list = '']) =>
        [...list.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
      );
      return [name, { kind: kind as Kind, labels: new Set(labels.filter((label) => label !== 'le')) }];
    }),
  );
}

test('every query of the dashboard and of the alerts is about figures that there are, and suits their kind', async (t) => {
  const known = await figures(t);
  assert.ok(known.size > 20);
  const alerts = [...read('docs/guides/operate-it.md').matchAll(/^ +expr: (.*)$/gm)].map(([, query = '']) => query);
  const advised = [
    ...read('docs/reference/metrics.md').matchAll(
      /^\| `(leasehold_[^`]*|rate\([^`]*)` \| (?!gauge|counter|histogram)/gm,
    ),
  ];
  assert.ok(queries.length > 30 && alerts.length > 5 && advised.length === 5);
  for (const query of [...queries, ...alerts, ...advised.map(([, one = '']) => one)])
    assert.deepEqual(problemsOf(query, known), [], query);
  const asked = queries.join('\n');
  for (const name of known.keys())
    assert.match(asked, new RegExp(`\\b${name}(_bucket|_sum|_count)?\\b`), `${name} is shown`);
  for (const { definition = '' } of dashboard.templating.list) {
    const [, name] = /(leasehold_\w+)/.exec(definition) ?? [];
    assert.ok(name === undefined || known.has(name), definition);
  }
});

test('a query that is wrong about a figure is found', async (t) => {
  const known = await figures(t);
  for (const query of [
    'vector(1)',
    'leasehold_tasks_pushed',
    'leasehold_tasks_pushed_total',
    'rate(leasehold_tasks_pushed_total)',
    'sum(rate(leasehold_leader[5m]))',
    'leasehold_leader[5m]',
    'rate(leasehold_claim_duration_seconds[5m])',
    'rate(leasehold_tasks_pushed_total_count[5m])',
    'leasehold_claim_duration_seconds_bucket',
    'leasehold_queue_tasks{limit="x"}',
    'sum by (limit) (leasehold_queue_tasks)',
    'histogram_quantile(0.5, sum(rate(leasehold_claim_duration_seconds_bucket[5m])))',
    'histogram_quantile(0.5, sum by (le) (rate(leasehold_claim_duration_seconds_count[5m])))',
  ])
    assert.notDeepEqual(problemsOf(query, known), [], query);
});

test('Prometheus takes every query of the dashboard', (t) => {
  const folder = temporaryFolder(t);
  const rules = queries.map((expr, i) => ({ record: `panel:query:${i}`, expr }));
  // What is JSON is YAML.
  writeFileSync(join(folder, 'rules.yml'), JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  const said = promtool(['check', 'rules', 'rules.yml'], folder);
  if (said === undefined) t.skip('there is no promtool');
  else assert.equal(said, '');
});

test('each panel says what it shows, in which unit, from the chosen source, and lies on no other one', () => {
  assert.ok(dashboard.schemaVersion >= 39);
  assert.equal(dashboard.templating.list.find(({ name }) => name === 'DS_PROMETHEUS')?.type, 'datasource');
  const ids = dashboard.panels.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const { title, description = '', fieldConfig, datasource, targets = [] } of shown) {
    assert.ok(description.length > 5 && targets.length > 0, title);
    assert.ok(fieldConfig?.defaults.unit, title);
    for (const { uid } of [datasource, ...targets.map((target) => target.datasource)].map(
      (source) => source ?? { uid: '' },
    ))
      assert.equal(uid, '${DS_PROMETHEUS}', title);
  }
  const places = dashboard.panels.map(({ gridPos }) => gridPos);
  for (const [i, a] of places.entries()) {
    assert.ok(a.x + a.w <= 24);
    for (const b of places.slice(i + 1))
      assert.ok(a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y);
  }
});
