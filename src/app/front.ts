import type { Engine } from '../engine/engine.ts';
import type { Log } from '../engine/log.ts';
import { Access } from '../server/access.ts';
import { Enrolment } from '../server/enrolment.ts';
import { EventHub } from '../server/event-hub.ts';
import { Hub } from '../server/hub.ts';
import { LeaseTokens } from '../server/lease-tokens.ts';
import { Metrics } from '../server/metrics.ts';
import type { Opened } from '../server/server.ts';
import { SessionTokens } from '../server/session-tokens.ts';
import { StepDesks } from '../server/step-desks.ts';
import { TokenDesk } from '../server/token-desk.ts';
import { DirectLink } from './direct-link.ts';
import type { App } from './open.ts';
import { Operator } from './operate.ts';

/** A store that does not answer within this time cannot hand out work. */
const PATIENCE_MS = 2000;

/** All that the server works on, made from an app that is open. */
export function frontOf(app: App, options: { readonly adminToken: string; readonly log: Log }): Opened {
  const { engine } = app;
  const metrics = new Metrics(
    engine,
    () => app.duties(),
    () => workers.connected,
  );
  const hub = new EventHub(engine, (event) => metrics.count(event));
  const tokens = new TokenDesk(engine.store);
  hub.start();
  const access = new Access(options.adminToken, tokens, engine.world);
  const link = new DirectLink(engine, undefined, { wary: true });
  const leases = new LeaseTokens(engine.store.clusterKey);
  const sessions = new SessionTokens(engine.store.clusterKey);
  const settingOf = async (name: string): Promise<{ enabled: boolean; tags: readonly string[] }> => {
    const settings = await engine.store.workerSettings();
    return settings.find((one) => one.name === name) ?? { enabled: true, tags: [] };
  };
  const workers = new Hub({
    link,
    tokens: leases,
    access,
    tagsOf: async (name) => (await settingOf(name)).tags,
    world: engine.world,
    log: options.log,
  });
  return {
    engine,
    hub,
    tokens,
    enrolment: new Enrolment(engine.store),
    metrics,
    access,
    workers,
    sessions,
    steps: new StepDesks({
      link,
      leases,
      sessions,
      settingOf,
      numberOf: (step) => engine.parseId(step),
      wall: engine.world.clock.wall,
    }),
    desk: () => new Operator(engine),
    obstacles: () => obstacles(engine),
  };
}

/** Why no work can be handed out; nothing: it can. */
async function obstacles(engine: Engine): Promise<readonly string[]> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const silent = new Promise<string>((resolve) =>
    late.addEventListener('abort', () => resolve(`the store has not answered for ${PATIENCE_MS / 1000} s`)),
  );
  const asked = engine.store.clock().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const problem = await Promise.race([asked, silent]);
  return problem === undefined ? [] : [problem];
}
