"""omegaconf: what a configuration does of itself."""

from stubs._bags import Bag
from stubs.host import at, unknown, words_in
from stubs.omegaconf.OmegaConf import of_words, write


class DictConfig(Bag):
    keeps_nothing = True

    def merge_with(self, *configs, **more):
        write(self, *configs, *more.values())
        return at(None)

    def merge_with_dotlist(self, dotlist=None):
        words, is_all = words_in(unknown if dotlist is None else dotlist)
        write(self, of_words(words, is_all))
        return at(None)

    def merge_with_cli(self):
        words, is_all = words_in(None)
        write(self, of_words(words, is_all))
        return at(None)
