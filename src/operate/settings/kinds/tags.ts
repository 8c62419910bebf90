import { fault } from '../../../core/errors.ts';
import type { SettingsKind } from '../settings-kind.ts';

/** Tags that were made by name. Those that workers only carry are theirs. */
export const TAGS: SettingsKind = {
  word: 'tags',

  read(name, value) {
    if (typeof value !== 'object' || value === null || Object.keys(value).length > 0)
      throw fault('INVALID_INPUT', { field: `tags.${name}`, problem: 'a tag has no settings' });
    return {};
  },

  async list(caller) {
    const { tags } = await caller.call('listTags');
    return new Map(tags.filter(({ made }) => made).map(({ tag }) => [tag, {}]));
  },

  async put(caller, { name, by }) {
    await caller.call('createTag', { body: { name }, by });
    return undefined;
  },

  /** Refused while something that the file does not change still uses it. */
  remove: (caller, name, by) => caller.call('removeTag', { params: { name }, by }),
};
