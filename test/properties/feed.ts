import { isTaskEvent } from '../../src/core/task/event.ts';
import { must } from './model-parts.ts';
import { ANY, at, BY, operation } from './operation.ts';
import type { Rig } from './rig.ts';

const readFeed = operation(4, { by: BY, after: ANY, page: 4 }, (rig, n) =>
  readFrom(rig, n.by, n.after % (rig.feed.length + 2), at([500, 1, 3, 7], n.page)),
);

export async function readFrom(rig: Rig, by: number, after: number, limit: number): Promise<void> {
  const { feed } = rig;
  let seen = after;
  for (let first = true; ; first = false) {
    const page = await rig.store(by).eventRead({ after: seen, limit });
    const ahead = seen > feed.length;
    const reset = first && (ahead || seen + 1 < rig.firstKept);
    must(page.reset === reset, `the feed after ${seen} says reset ${page.reset}`);
    if (ahead) {
      must(
        page.last === feed.length && page.events.length === 0,
        `a reader ahead was told to go on after ${page.last}`,
      );
      return;
    }
    if (reset) {
      rig.gates.reach('reader told to start over');
      seen = rig.firstKept - 1;
    }
    must(page.events.length <= limit, 'a page is too long');
    for (const event of page.events) {
      seen++;
      const kept = feed[seen - 1];
      const whole =
        isTaskEvent(event) && kept?.seq === event.seq && kept.task === event.task && kept.change === event.change;
      must(whole, `after ${seen - 1} the feed tells of event ${event.seq}, once ${kept?.change} of task ${kept?.task}`);
    }
    must(page.last === seen, `the page ends at ${page.last}, not ${seen}`);
    if (page.events.length < limit) break;
  }
  must(seen >= feed.length, `the feed after ${after} ends at ${seen}, not ${feed.length}`);
}

const followFeed = operation(2, { by: BY, after: ANY }, async (rig, n) => {
  const { feed } = rig;
  if (feed.length === 0) return;
  let seen = n.after % feed.length;
  for await (const item of rig.engine(n.by).events({ after: seen })) {
    if (item.kind === 'reset') {
      must(item.last === rig.firstKept - 1, `the reader was told to go on after ${item.last}`);
      seen = item.last;
      continue;
    }
    must(item.kind === 'event', `event ${item.event.seq} is about a worker`);
    must(item.event.seq === seen + 1, `after ${seen} came ${item.event.seq}`);
    must(item.event.task === feed[seen]?.task, `event ${item.event.seq} is about another task now`);
    seen++;
    if (seen === feed.length) break;
  }
});

export const FEED = { readFeed, followFeed };
