"""Images through a network: stand-ins with the interfaces of timm and torchvision."""

from __future__ import annotations

import sys
import types

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import leaven
from leaven.cli import main
from leaven.exceptions import MissingExtraError
from leaven.tables import TableError, label_table
from leaven.tables import _embed_images as module
from leaven.tables._embed_images import ImageVectors, as_input, load_image_embedder

Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")

MEAN, STD = (0.5, 0.25, 0.125), (0.5, 1.0, 2.0)


class Colors(torch.nn.Module):
    """Mean of each color; counts the images that it saw."""

    seen = 0

    def __init__(self, pooled=True):
        super().__init__()
        self.pooled = pooled
        self.pretrained_cfg = {"input_size": (3, 6, 8), "mean": MEAN, "std": STD, "crop_pct": 0.75}
        self.fc = torch.nn.Linear(3, 7)

    def forward(self, batch):
        type(self).seen += len(batch)
        assert batch.shape[1:] == (3, 6, 8)
        assert not torch.is_grad_enabled()
        assert not self.training
        return batch.mean(dim=(2, 3)) if self.pooled else batch


@pytest.fixture
def timm(monkeypatch):
    """Install a stand-in for timm; returns the names that it was asked for."""
    asked = []
    Colors.seen = 0

    def create_model(name, pretrained, num_classes):
        assert pretrained
        assert num_classes == 0
        asked.append(name)
        if name == "absent":
            raise OSError("We couldn't connect to the hub.\nMany lines more.")
        if name == "nan":
            model = Colors()
            model.forward = lambda batch: torch.full((len(batch), 2), torch.nan)
            return model
        return Colors(pooled=name != "unpooled")

    package = types.ModuleType("timm")
    package.create_model = create_model
    package.__spec__ = types.SimpleNamespace(name="timm")
    monkeypatch.setitem(sys.modules, "timm", package)
    monkeypatch.setattr(module, "is_installed", lambda name: name == "timm")
    return asked


@pytest.fixture
def pictures(tmp_path):
    """Red and blue images of several sizes, too large for pixels."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    names, kinds = [], []
    for i in range(20):
        kind = ("red", "blue")[i % 2]
        pixels = rng.integers(0, 90, size=(80 + i, 100, 3))
        pixels[..., 0 if kind == "red" else 2] += 140
        names.append(f"{i:02d}.png")
        Image.fromarray(pixels.astype(np.uint8)).save(folder / names[-1])
        kinds.append(kind)
    table = pd.DataFrame({"image": names, "kind": np.array(kinds, dtype=object)})
    table.loc[6:, "kind"] = None
    return folder, table, kinds


def test_input_is_scaled_cropped_and_standardized():
    pixels = np.zeros((30, 40, 3), dtype=np.uint8)
    pixels[:, :20], pixels[:, 20:] = (255, 51, 0), (0, 102, 255)
    image = Image.fromarray(pixels)
    found = as_input(image, size=(6, 8), mean=MEAN, std=STD, crop=0.75)
    assert found.shape == (3, 6, 8)
    assert found.dtype == np.float32
    left = (np.array([1.0, 0.2, 0.0]) - MEAN) / STD
    right = (np.array([0.0, 0.4, 1.0]) - MEAN) / STD
    np.testing.assert_allclose(found[:, :, 0], np.tile(left[:, None], 6), atol=1e-6)
    np.testing.assert_allclose(found[:, :, -1], np.tile(right[:, None], 6), atol=1e-6)
    for shape in ((5, 300), (300, 5), (1, 1)):
        odd = as_input(Image.new("RGB", shape), size=(6, 8), mean=MEAN, std=STD, crop=1.0)
        assert odd.shape == (3, 6, 8)


@pytest.mark.parametrize("name", ["plain", "unpooled"])
def test_vectors_are_those_of_the_network(timm, name):
    images = [Image.new("RGB", (9, 9), color) for color in [(255, 0, 51), (0, 102, 255)]]
    expected = (np.array([[1, 0, 0.2], [0, 0.4, 1]]) - MEAN) / STD
    np.testing.assert_allclose(load_image_embedder(name)(images), expected, atol=1e-6)


def test_images_are_labeled_kept_and_embedded_once(timm, pictures, tmp_path):
    folder, table, kinds = pictures
    options = {"embed": "resnet", "image_folder": folder, "embed_cache": tmp_path / "v.npz"}
    found = label_table(table, "kind", method="harmonic", **options)
    assert found.table["kind_predicted"].tolist() == kinds
    assert found.summary.columns == {"image_vector": "vector"}
    assert found.summary.dropped == {"image": "paths of images: their vectors are used"}
    assert (Colors.seen, timm) == (20, ["resnet"])
    label_table(table, "kind", method="harmonic", details=False, **options)
    assert (Colors.seen, timm) == (20, ["resnet"])
    found.save(tmp_path / "m.leaven")
    model = leaven.load(tmp_path / "m.leaven")
    assert model.about["embed"] == "resnet"
    assert model.predict(folder).tolist() == kinds
    assert Colors.seen == 40  # a saved model has no file beside it
    again = label_table(table, "kind", start=model, method="harmonic", image_folder=folder)
    assert isinstance(again.pixels, ImageVectors)


def test_images_that_do_not_open_are_named_and_skipped(timm, pictures):
    folder, table, kinds = pictures
    (folder / "10.png").write_bytes(b"no image")
    (folder / "11.png").unlink()
    with (
        pytest.warns(UserWarning, match=r"2 images were skipped: '10.png' \(it is no image\)"),
        pytest.warns(UserWarning, match="2 rows have no cell"),
        pytest.warns(UserWarning, match="near no labeled row"),
    ):
        found = label_table(
            table, "kind", embed="net", image_folder=folder, method="harmonic", details=False
        )
    right = found.table["kind_predicted"] == kinds
    assert right[~table["image"].isin(["10.png", "11.png"])].all()
    with (
        pytest.warns(UserWarning, match="2 images were skipped"),
        pytest.raises(TableError, match="No image can be read"),
    ):
        ImageVectors("net", "image").join(table.iloc[10:12], folder)


def test_a_folder_is_given_to_timm_as_one(timm, tmp_path):
    load_image_embedder(str(tmp_path))
    assert timm == [f"local-dir:{tmp_path}"]


def test_what_cannot_be_loaded_is_one_line(timm, pictures, tmp_path, monkeypatch):
    folder, table, _ = pictures
    table.dropna().to_csv(tmp_path / "labels.csv", index=False)
    command = ["label", str(folder), "--labels", str(tmp_path / "labels.csv"), "--embed"]
    for name, message in [
        ("absent", "'absent' could not be loaded: We couldn't connect to the hub. Without a net"),
        ("nan", "'nan' gave an array of shape (20, 2) for 20 images, or numbers that are not fin"),
    ]:
        done = CliRunner().invoke(main, [*command, name])
        assert done.exit_code == 2
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    monkeypatch.setattr(module, "is_installed", lambda name: False)
    with pytest.raises(MissingExtraError, match="needs timm or torchvision"):
        load_image_embedder("resnet18")
    with pytest.raises(TableError, match="no column looks like a text, and none holds paths"):
        label_table(pd.DataFrame({"x": [1, 5, 9], "kind": ["a", "b", None]}), "kind", embed="net")


def test_torchvision_loses_its_last_layer(monkeypatch):
    class Weights:
        class DEFAULT:
            @staticmethod
            def transforms():
                return types.SimpleNamespace(crop_size=[6], resize_size=[8], mean=MEAN, std=STD)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.classifier = torch.nn.Linear(3, 7)

        def forward(self, batch):
            return self.classifier(batch.mean(dim=(2, 3)))

    def get_model(name, weights):
        assert weights is Weights.DEFAULT
        return Network()

    models = types.ModuleType("torchvision.models")
    models.get_model, models.get_model_weights = get_model, lambda name: Weights
    package = types.ModuleType("torchvision")
    package.models, package.__path__ = models, []
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    monkeypatch.setattr(module, "is_installed", lambda name: name == "torchvision")
    found = load_image_embedder("resnet18")([Image.new("RGB", (9, 9), (255, 0, 51))])
    np.testing.assert_allclose(found, [(np.array([1, 0, 0.2]) - MEAN) / STD], atol=1e-6)
