import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Artifact } from '../../core/artifact/artifact.ts';
import type { ArtifactLink, OutgoingFile } from '../../protocol/artifact-link.ts';
import type { Assignment, Session } from '../../protocol/link.ts';
import { type LinkCase, type LinkScene, type LinkTopic, refusal } from './scene.ts';
import { spawn } from './turning.ts';

const PLAYER = { handlers: ['send', 'play'] };

/** Files of one case, and the link's side of artifacts. */
class Desk {
  readonly session: Session;
  readonly link: ArtifactLink;
  readonly #scene: LinkScene;
  readonly #folder: string;

  constructor(scene: LinkScene, session: Session, folder: string) {
    assert.ok(session.artifacts, 'the link stores no artifacts');
    this.session = session;
    this.link = session.artifacts;
    this.#scene = scene;
    this.#folder = folder;
  }

  /** The same, of another session. */
  of(session: Session): Desk {
    return new Desk(this.#scene, session, this.#folder);
  }

  file(text: string, name = 'report/summary.txt'): OutgoingFile {
    const path = this.path();
    writeFileSync(path, text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    return { path, name, type: 'text/plain', size: Buffer.byteLength(text), sha256 };
  }

  path(): string {
    return join(this.#folder, randomUUID());
  }

  put(lease: Assignment, text: string, name?: string): Promise<Artifact> {
    return this.#scene.passing(this.link.put(lease, this.file(text, name)));
  }

  async textOf(lease: Assignment, artifact: Artifact): Promise<string> {
    const path = this.path();
    await this.#scene.passing(this.link.fetch(lease, artifact, path));
    return readFileSync(path, 'utf8');
  }

  async names(lease: Assignment): Promise<readonly string[]> {
    return (await this.link.list(lease)).map(({ name }) => name);
  }
}

function withDesk(run: (desk: Desk, scene: LinkScene) => Promise<void>): LinkCase {
  return async (scene) => {
    const folder = mkdtempSync(join(tmpdir(), 'link-artifacts-'));
    try {
      await run(new Desk(scene, await scene.open(PLAYER), folder), scene);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

export const ARTIFACTS: LinkTopic = {
  name: 'artifacts',
  cases: {
    'what an attempt has stored is there for the next one, by its name, by its id and in the list': withDesk(
      async (desk, scene) => {
        const first = await scene.running(desk.session, { maxAttempts: 10 });
        const stored = await desk.put(first, 'hällo');
        assert.deepEqual(
          [stored.task, stored.attempt, stored.name, stored.type, stored.kind, stored.size],
          [first.task, first.attempt, 'report/summary.txt', 'text/plain', 'file', 6],
        );
        await scene.expire(desk.session);
        const next = await scene.claimOne(desk.session);
        assert.deepEqual(await desk.link.find(next, { name: stored.name }), stored);
        assert.deepEqual(await desk.link.find(next, { id: stored.id }), stored);
        assert.deepEqual(await desk.link.list(next), [stored]);
        assert.equal(await desk.textOf(next, stored), 'hällo');
      },
    ),

    'an empty file and one of several chunks come back as they were': withDesk(async (desk, scene) => {
      const held = await scene.running(desk.session);
      for (const text of ['', 'x'.repeat(3_000_000)])
        assert.ok((await desk.textOf(held, await desk.put(held, text))) === text);
    }),

    'a parent reads what its child has left': withDesk(async (desk, scene) => {
      const parent = await scene.running(desk.session);
      const child = await spawn(desk.session, parent);
      const running = await scene.claimOne(desk.session);
      assert.equal(running.task, child.task);
      const stored = await desk.put(running, 'of the child', 'out');
      await desk.session.complete(running, null);
      assert.deepEqual(await desk.link.find(parent, { task: child.id, name: 'out' }), stored);
      assert.deepEqual(await desk.link.list(parent, child.id), [stored]);
      assert.deepEqual(await desk.link.list(parent), []);
      assert.equal(await desk.textOf(parent, stored), 'of the child');
    }),

    'what belongs to a task of another run is not there for a joined worker, by whatever name': withDesk(
      async (desk, scene) => {
        const stranger = await scene.push();
        const other = await scene.open({ handlers: ['send'] });
        const theirs = await scene.claimOne(other);
        assert.equal(theirs.task, stranger.task);
        const stored = await desk.of(other).put(theirs, 'secret', 'out');
        const held = await scene.running(desk.session);
        assert.equal(await refusal(desk.link.find(held, { id: stored.id })), 'NOT_FOUND');
        assert.equal(await refusal(desk.link.find(held, { task: stranger.id, name: 'out' })), 'NOT_FOUND');
        assert.equal(await refusal(desk.link.list(held, stranger.id)), 'NOT_FOUND');
        assert.equal(await refusal(desk.link.fetch(held, stored, desk.path())), 'NOT_FOUND');
      },
    ),

    'the newest of a name takes the place of the one before': withDesk(async (desk, scene) => {
      const held = await scene.running(desk.session);
      const first = await desk.put(held, 'one', 'out');
      const second = await desk.put(held, 'two', 'out');
      assert.deepEqual(await desk.link.list(held), [second]);
      assert.equal(await desk.textOf(held, await desk.link.find(held, { name: 'out' })), 'two');
      assert.equal(await refusal(desk.link.find(held, { id: first.id })), 'NOT_FOUND');
    }),

    'an attempt that lost its task stores nothing and reads nothing': withDesk(async (desk, scene) => {
      const { stale, fresh } = await scene.overtaken(desk.session);
      const stored = await desk.put(fresh, 'fresh', 'out');
      assert.equal(await refusal(desk.put(stale, 'stale', 'out')), 'LEASE_LOST');
      assert.equal(await refusal(desk.link.find(stale, { name: 'out' })), 'LEASE_LOST');
      assert.equal(await refusal(desk.link.list(stale)), 'LEASE_LOST');
      assert.equal(await refusal(desk.link.fetch(stale, stored, desk.path())), 'LEASE_LOST');
      assert.equal(await desk.textOf(fresh, stored), 'fresh');
    }),

    'an upload whose attempt ends on its way is seen by nobody': withDesk(async (desk, scene) => {
      const stale = await scene.running(desk.session, { maxAttempts: 10 });
      const held = scene.artifacts.holdNext();
      const putting = refusal(desk.put(stale, 'late', 'out'));
      await held.arrived;
      await scene.expire(desk.session);
      const fresh = await scene.claimOne(desk.session);
      held.go();
      assert.equal(await putting, 'LEASE_LOST');
      assert.deepEqual(await desk.names(fresh), []);
      assert.equal(await refusal(desk.link.find(fresh, { name: 'out' })), 'NOT_FOUND');
    }),

    'an upload is seen by nobody before it is whole': withDesk(async (desk, scene) => {
      const lease = await scene.running(desk.session);
      const held = scene.artifacts.holdNext();
      const putting = desk.put(lease, 'x'.repeat(1_000_000), 'out');
      await held.arrived;
      assert.deepEqual(await desk.names(lease), []);
      held.go();
      const { name } = await putting;
      assert.deepEqual(await desk.names(lease), [name]);
    }),

    'bytes that are not those announced are refused, and are seen by nobody': withDesk(async (desk, scene) => {
      const held = await scene.running(desk.session);
      for (const text of ['12346', '1234', '123456']) {
        const file = desk.file('12345', 'out');
        writeFileSync(file.path, text);
        assert.equal(await refusal(scene.passing(desk.link.put(held, file))), 'ARTIFACT_MISMATCH');
      }
      assert.deepEqual(await desk.names(held), []);
    }),

    'a place that fails is tried again': withDesk(async (desk, scene) => {
      const held = await scene.running(desk.session);
      scene.artifacts.failNext(2);
      const stored = await desk.put(held, 'at last', 'out');
      scene.artifacts.failNext(1);
      assert.equal(await desk.textOf(held, stored), 'at last');
    }),

    'what cannot be a name or a media type is refused': withDesk(async (desk, scene) => {
      const held = await scene.running(desk.session);
      for (const name of ['../out', '/out', 'a\\b', 'nul', 'a/', '\u0000'])
        assert.equal(await refusal(desk.put(held, 'x', name)), 'INVALID_INPUT', name);
      const file = { ...desk.file('x'), type: 'text/html\r\nx: y' };
      assert.equal(await refusal(desk.link.put(held, file)), 'INVALID_INPUT');
    }),

    'a parked or completed task stores no more': withDesk(async (desk, scene) => {
      const held = await scene.running(desk.session);
      await desk.session.complete(held, null);
      assert.equal(await refusal(desk.put(held, 'late')), 'LEASE_LOST');
    }),
  },
};
