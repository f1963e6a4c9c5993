BEGIN TRANSACTION;
CREATE TABLE argbest_beginnings (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	n_records BIGINT NOT NULL, 
	PRIMARY KEY (study, revision), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
CREATE TABLE argbest_failures (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	trial BIGINT NOT NULL, 
	reason TEXT NOT NULL, 
	again BOOLEAN NOT NULL, 
	seconds DOUBLE, 
	time DOUBLE NOT NULL, 
	PRIMARY KEY (study, revision), 
	UNIQUE (study, trial), 
	FOREIGN KEY(study, trial) REFERENCES argbest_trials (study, trial), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
CREATE TABLE argbest_observations (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	trial BIGINT NOT NULL, 
	n BIGINT NOT NULL, 
	mean DOUBLE NOT NULL, 
	m2 DOUBLE NOT NULL, 
	"values" TEXT, 
	seconds DOUBLE, 
	time DOUBLE NOT NULL, 
	PRIMARY KEY (study, revision), 
	UNIQUE (study, trial), 
	FOREIGN KEY(study, trial) REFERENCES argbest_trials (study, trial), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
INSERT INTO "argbest_observations" VALUES(1,2,0,1,-0.131,0.0,'[-0.131]',NULL,1.79477018306623697279e+09);
INSERT INTO "argbest_observations" VALUES(1,4,1,1,1.292,0.0,'[1.292]',NULL,1.7947701830685958862e+09);
INSERT INTO "argbest_observations" VALUES(1,6,2,1,2.214,0.0,'[2.214]',NULL,1.79477018306965327258e+09);
INSERT INTO "argbest_observations" VALUES(1,8,3,1,1.062,0.0,'[1.062]',NULL,1.79477018307531261441e+09);
INSERT INTO "argbest_observations" VALUES(1,10,4,1,1.95,0.0,'[1.95]',NULL,1.79477018307643437387e+09);
INSERT INTO "argbest_observations" VALUES(1,12,5,1,2.825,0.0,'[2.825]',NULL,1.79477018307736372942e+09);
INSERT INTO "argbest_observations" VALUES(1,14,6,1,0.093,0.0,'[0.093]',NULL,1.79477018307840085033e+09);
INSERT INTO "argbest_observations" VALUES(1,16,7,1,1.241,0.0,'[1.241]',NULL,1.79477018307934498789e+09);
INSERT INTO "argbest_observations" VALUES(1,18,8,1,2.419,0.0,'[2.419]',NULL,1.79477018308375239376e+09);
INSERT INTO "argbest_observations" VALUES(1,20,9,1,0.134,0.0,'[0.134]',NULL,1.79477018308565258982e+09);
INSERT INTO "argbest_observations" VALUES(1,22,10,1,0.868,0.0,'[0.868]',NULL,1.79477018309325146673e+09);
INSERT INTO "argbest_observations" VALUES(1,24,11,1,2.039,0.0,'[2.039]',NULL,1.79477018309648895261e+09);
INSERT INTO "argbest_observations" VALUES(1,26,12,1,0.723,0.0,'[0.723]',NULL,1.79477018309857678417e+09);
INSERT INTO "argbest_observations" VALUES(1,28,13,1,1.968,0.0,'[1.968]',NULL,1.79477018309994935984e+09);
INSERT INTO "argbest_observations" VALUES(1,30,14,1,3.191,0.0,'[3.191]',NULL,1.79477018310100626952e+09);
INSERT INTO "argbest_observations" VALUES(1,32,15,1,0.362,0.0,'[0.362]',NULL,1.79477018310649132732e+09);
INSERT INTO "argbest_observations" VALUES(1,34,16,1,1.44,0.0,'[1.44]',NULL,1.79477018310854196554e+09);
INSERT INTO "argbest_observations" VALUES(1,36,17,1,2.359,0.0,'[2.359]',NULL,1.79477018311000180244e+09);
INSERT INTO "argbest_observations" VALUES(1,39,18,1,2.947,0.0,'[2.947]',NULL,1.79477021955765604971e+09);
INSERT INTO "argbest_observations" VALUES(1,41,19,1,1.104,0.0,'[1.104]',NULL,1.79477021956440877916e+09);
INSERT INTO "argbest_observations" VALUES(1,43,20,1,3.287,0.0,'[3.287]',NULL,1.79477021956753826138e+09);
INSERT INTO "argbest_observations" VALUES(2,2,0,1,-0.131,0.0,'[-0.131]',NULL,1.79477021962340354916e+09);
INSERT INTO "argbest_observations" VALUES(2,4,1,1,1.292,0.0,'[1.292]',NULL,1.79477021962671589856e+09);
INSERT INTO "argbest_observations" VALUES(2,6,2,1,2.214,0.0,'[2.214]',NULL,1.79477021962811923022e+09);
INSERT INTO "argbest_observations" VALUES(2,8,3,1,1.062,0.0,'[1.062]',NULL,1.79477021962953782081e+09);
INSERT INTO "argbest_observations" VALUES(2,10,4,1,1.95,0.0,'[1.95]',NULL,1.79477021963532900813e+09);
INSERT INTO "argbest_observations" VALUES(2,12,5,1,2.825,0.0,'[2.825]',NULL,1.79477021963684248923e+09);
INSERT INTO "argbest_observations" VALUES(2,14,6,1,0.093,0.0,'[0.093]',NULL,1.79477021964251899719e+09);
INSERT INTO "argbest_observations" VALUES(2,16,7,1,1.241,0.0,'[1.241]',NULL,1.79477021964430952074e+09);
INSERT INTO "argbest_observations" VALUES(2,18,8,1,2.419,0.0,'[2.419]',NULL,1.79477021964571499829e+09);
INSERT INTO "argbest_observations" VALUES(2,20,9,1,0.134,0.0,'[0.134]',NULL,1.7947702196470341682e+09);
INSERT INTO "argbest_observations" VALUES(2,22,10,1,0.868,0.0,'[0.868]',NULL,1.79477021964820575719e+09);
INSERT INTO "argbest_observations" VALUES(2,24,11,1,2.039,0.0,'[2.039]',NULL,1.79477021964924311637e+09);
INSERT INTO "argbest_observations" VALUES(2,26,12,1,0.723,0.0,'[0.723]',NULL,1.79477021965032458301e+09);
INSERT INTO "argbest_observations" VALUES(2,28,13,1,1.968,0.0,'[1.968]',NULL,1.79477021965135955807e+09);
INSERT INTO "argbest_observations" VALUES(2,30,14,1,3.191,0.0,'[3.191]',NULL,1.79477021965235733992e+09);
INSERT INTO "argbest_observations" VALUES(2,32,15,1,0.362,0.0,'[0.362]',NULL,1.79477021965332174304e+09);
INSERT INTO "argbest_observations" VALUES(2,34,16,1,1.44,0.0,'[1.44]',NULL,1.79477021965872406963e+09);
INSERT INTO "argbest_observations" VALUES(2,36,17,1,2.359,0.0,'[2.359]',NULL,1.79477021966040635111e+09);
INSERT INTO "argbest_observations" VALUES(2,39,18,1,1.104,0.0,'[1.104]',NULL,1.7947702482418470383e+09);
INSERT INTO "argbest_observations" VALUES(2,41,19,1,2.947,0.0,'[2.947]',NULL,1.79477024824410390851e+09);
INSERT INTO "argbest_observations" VALUES(2,43,20,1,2.523,0.0,'[2.523]',NULL,1.79477024824580335621e+09);
INSERT INTO "argbest_observations" VALUES(3,2,0,1,-0.131,0.0,'[-0.131]',NULL,1.79477024826429343217e+09);
INSERT INTO "argbest_observations" VALUES(3,4,1,1,1.292,0.0,'[1.292]',NULL,1.79477024826676630981e+09);
INSERT INTO "argbest_observations" VALUES(3,6,2,1,2.214,0.0,'[2.214]',NULL,1.79477024826801109316e+09);
INSERT INTO "argbest_observations" VALUES(3,8,3,1,1.062,0.0,'[1.062]',NULL,1.79477024826914834977e+09);
INSERT INTO "argbest_observations" VALUES(3,10,4,1,1.95,0.0,'[1.95]',NULL,1.79477024827045774464e+09);
INSERT INTO "argbest_observations" VALUES(3,12,5,1,2.825,0.0,'[2.825]',NULL,1.7947702482716424465e+09);
INSERT INTO "argbest_observations" VALUES(3,14,6,1,0.093,0.0,'[0.093]',NULL,1.79477024827283763888e+09);
INSERT INTO "argbest_observations" VALUES(3,16,7,1,1.241,0.0,'[1.241]',NULL,1.79477024827401494986e+09);
INSERT INTO "argbest_observations" VALUES(3,18,8,1,2.419,0.0,'[2.419]',NULL,1794770248.27523);
INSERT INTO "argbest_observations" VALUES(3,20,9,1,0.134,0.0,'[0.134]',NULL,1.79477024827666950222e+09);
INSERT INTO "argbest_observations" VALUES(3,22,10,1,0.868,0.0,'[0.868]',NULL,1.79477024827877521514e+09);
INSERT INTO "argbest_observations" VALUES(3,24,11,1,2.039,0.0,'[2.039]',NULL,1.7947702482803835869e+09);
INSERT INTO "argbest_observations" VALUES(3,26,12,1,0.723,0.0,'[0.723]',NULL,1.7947702482815876007e+09);
INSERT INTO "argbest_observations" VALUES(3,28,13,1,1.968,0.0,'[1.968]',NULL,1.79477024828316235544e+09);
INSERT INTO "argbest_observations" VALUES(3,30,14,1,3.191,0.0,'[3.191]',NULL,1.79477024828527212145e+09);
INSERT INTO "argbest_observations" VALUES(3,32,15,1,0.362,0.0,'[0.362]',NULL,1.79477024828731036181e+09);
INSERT INTO "argbest_observations" VALUES(3,34,16,1,1.44,0.0,'[1.44]',NULL,1.79477024828964591023e+09);
INSERT INTO "argbest_observations" VALUES(3,36,17,1,2.359,0.0,'[2.359]',NULL,1.79477024829184675217e+09);
INSERT INTO "argbest_observations" VALUES(3,39,18,1,2.947,0.0,'[2.947]',NULL,1.79477026243058824543e+09);
INSERT INTO "argbest_observations" VALUES(3,41,19,1,1.696,0.0,'[1.696]',NULL,1.79477026243228816992e+09);
INSERT INTO "argbest_observations" VALUES(3,43,20,1,0.829,0.0,'[0.829]',NULL,1.79477026243371105187e+09);
INSERT INTO "argbest_observations" VALUES(4,2,0,1,-0.131,0.0,'[-0.131]',NULL,1.79477026246821546552e+09);
INSERT INTO "argbest_observations" VALUES(4,4,1,1,1.292,0.0,'[1.292]',NULL,1.7947702624733726978e+09);
INSERT INTO "argbest_observations" VALUES(4,6,2,1,2.214,0.0,'[2.214]',NULL,1.79477026247504615778e+09);
INSERT INTO "argbest_observations" VALUES(4,8,3,1,1.062,0.0,'[1.062]',NULL,1.7947702624772739411e+09);
INSERT INTO "argbest_observations" VALUES(4,10,4,1,1.95,0.0,'[1.95]',NULL,1.79477026247843551636e+09);
INSERT INTO "argbest_observations" VALUES(4,12,5,1,2.825,0.0,'[2.825]',NULL,1.79477026247917532918e+09);
INSERT INTO "argbest_observations" VALUES(4,14,6,1,0.093,0.0,'[0.093]',NULL,1.79477026247977471356e+09);
INSERT INTO "argbest_observations" VALUES(4,16,7,1,1.241,0.0,'[1.241]',NULL,1.79477026248067450522e+09);
INSERT INTO "argbest_observations" VALUES(4,18,8,1,2.419,0.0,'[2.419]',NULL,1.79477026248219823836e+09);
INSERT INTO "argbest_observations" VALUES(4,20,9,1,0.134,0.0,'[0.134]',NULL,1.79477026248291039465e+09);
INSERT INTO "argbest_observations" VALUES(4,22,10,1,0.868,0.0,'[0.868]',NULL,1.79477026248360276225e+09);
INSERT INTO "argbest_observations" VALUES(4,24,11,1,2.039,0.0,'[2.039]',NULL,1.79477026248431468006e+09);
INSERT INTO "argbest_observations" VALUES(4,26,12,1,0.723,0.0,'[0.723]',NULL,1.79477026248500061032e+09);
INSERT INTO "argbest_observations" VALUES(4,28,13,1,1.968,0.0,'[1.968]',NULL,1.79477026248561167716e+09);
INSERT INTO "argbest_observations" VALUES(4,30,14,1,3.191,0.0,'[3.191]',NULL,1.79477026248632168768e+09);
INSERT INTO "argbest_observations" VALUES(4,32,15,1,0.362,0.0,'[0.362]',NULL,1.79477026248692631722e+09);
INSERT INTO "argbest_observations" VALUES(4,34,16,1,1.44,0.0,'[1.44]',NULL,1.79477026248757100105e+09);
INSERT INTO "argbest_observations" VALUES(4,36,17,1,2.359,0.0,'[2.359]',NULL,1.79477026248825311666e+09);
INSERT INTO "argbest_observations" VALUES(4,39,18,1,2.947,0.0,'[2.947]',NULL,1.79477026249372339245e+09);
INSERT INTO "argbest_observations" VALUES(4,41,19,1,3.287,0.0,'[3.287]',NULL,1.79477026249505877491e+09);
INSERT INTO "argbest_observations" VALUES(4,43,20,1,1.104,0.0,'[1.104]',NULL,1.79477026249605035781e+09);
INSERT INTO "argbest_observations" VALUES(5,2,0,1,-0.131,0.0,'[-0.131]',NULL,1.79477026252498126027e+09);
INSERT INTO "argbest_observations" VALUES(5,4,1,1,1.292,0.0,'[1.292]',NULL,1.79477026252659320826e+09);
INSERT INTO "argbest_observations" VALUES(5,6,2,1,2.214,0.0,'[2.214]',NULL,1.7947702625272681713e+09);
INSERT INTO "argbest_observations" VALUES(5,8,3,1,1.062,0.0,'[1.062]',NULL,1.79477026252788925174e+09);
INSERT INTO "argbest_observations" VALUES(5,10,4,1,1.95,0.0,'[1.95]',NULL,1.79477026252847743034e+09);
INSERT INTO "argbest_observations" VALUES(5,12,5,1,2.825,0.0,'[2.825]',NULL,1.79477026252907919884e+09);
INSERT INTO "argbest_observations" VALUES(5,14,6,1,0.093,0.0,'[0.093]',NULL,1.79477026252965068814e+09);
INSERT INTO "argbest_observations" VALUES(5,16,7,1,1.241,0.0,'[1.241]',NULL,1.79477026253030896192e+09);
INSERT INTO "argbest_observations" VALUES(5,18,8,1,2.419,0.0,'[2.419]',NULL,1.7947702625309002399e+09);
INSERT INTO "argbest_observations" VALUES(5,20,9,1,0.134,0.0,'[0.134]',NULL,1.79477026253147816658e+09);
INSERT INTO "argbest_observations" VALUES(5,22,10,1,0.868,0.0,'[0.868]',NULL,1.79477026253208899494e+09);
INSERT INTO "argbest_observations" VALUES(5,24,11,1,2.039,0.0,'[2.039]',NULL,1.79477026253263616563e+09);
INSERT INTO "argbest_observations" VALUES(5,26,12,1,0.723,0.0,'[0.723]',NULL,1.79477026253322744365e+09);
INSERT INTO "argbest_observations" VALUES(5,28,13,1,1.968,0.0,'[1.968]',NULL,1.79477026253383302682e+09);
INSERT INTO "argbest_observations" VALUES(5,30,14,1,3.191,0.0,'[3.191]',NULL,1.79477026253448319437e+09);
INSERT INTO "argbest_observations" VALUES(5,32,15,1,0.362,0.0,'[0.362]',NULL,1.79477026253523683544e+09);
INSERT INTO "argbest_observations" VALUES(5,34,16,1,1.44,0.0,'[1.44]',NULL,1.79477026253584504133e+09);
INSERT INTO "argbest_observations" VALUES(5,36,17,1,2.359,0.0,'[2.359]',NULL,1.79477026253646898277e+09);
INSERT INTO "argbest_observations" VALUES(5,39,18,1,2.947,0.0,'[2.947]',NULL,1.79477027333779096604e+09);
INSERT INTO "argbest_observations" VALUES(5,41,19,1,1.696,0.0,'[1.696]',NULL,1.79477027334397411348e+09);
INSERT INTO "argbest_observations" VALUES(5,43,20,1,2.049,0.0,'[2.049]',NULL,1794770273.34545);
INSERT INTO "argbest_observations" VALUES(6,2,0,1,-0.131,0.0,'[-0.131]',NULL,1.79477027337567305569e+09);
INSERT INTO "argbest_observations" VALUES(6,4,1,1,1.292,0.0,'[1.292]',NULL,1.79477027337766814225e+09);
INSERT INTO "argbest_observations" VALUES(6,6,2,1,2.214,0.0,'[2.214]',NULL,1.79477027338352847097e+09);
INSERT INTO "argbest_observations" VALUES(6,8,3,1,1.062,0.0,'[1.062]',NULL,1.79477027338490128516e+09);
INSERT INTO "argbest_observations" VALUES(6,10,4,1,1.95,0.0,'[1.95]',NULL,1.79477027339539337152e+09);
INSERT INTO "argbest_observations" VALUES(6,12,5,1,2.825,0.0,'[2.825]',NULL,1.79477027339674758904e+09);
INSERT INTO "argbest_observations" VALUES(6,14,6,1,0.093,0.0,'[0.093]',NULL,1.79477027339764261251e+09);
INSERT INTO "argbest_observations" VALUES(6,16,7,1,1.241,0.0,'[1.241]',NULL,1.79477027340098834037e+09);
INSERT INTO "argbest_observations" VALUES(6,18,8,1,2.419,0.0,'[2.419]',NULL,1.79477027340193533893e+09);
INSERT INTO "argbest_observations" VALUES(6,20,9,1,0.134,0.0,'[0.134]',NULL,1.79477027340749192233e+09);
INSERT INTO "argbest_observations" VALUES(6,22,10,1,0.868,0.0,'[0.868]',NULL,1.79477027340824580193e+09);
INSERT INTO "argbest_observations" VALUES(6,24,11,1,2.039,0.0,'[2.039]',NULL,1.79477027340890383719e+09);
INSERT INTO "argbest_observations" VALUES(6,26,12,1,0.723,0.0,'[0.723]',NULL,1.79477027340950274474e+09);
INSERT INTO "argbest_observations" VALUES(6,28,13,1,1.968,0.0,'[1.968]',NULL,1.79477027341034793854e+09);
INSERT INTO "argbest_observations" VALUES(6,30,14,1,3.191,0.0,'[3.191]',NULL,1.79477027341102671623e+09);
INSERT INTO "argbest_observations" VALUES(6,32,15,1,0.362,0.0,'[0.362]',NULL,1.79477027341163611418e+09);
INSERT INTO "argbest_observations" VALUES(6,34,16,1,1.44,0.0,'[1.44]',NULL,1.7947702734122428894e+09);
INSERT INTO "argbest_observations" VALUES(6,36,17,1,2.359,0.0,'[2.359]',NULL,1.79477027341286683084e+09);
INSERT INTO "argbest_observations" VALUES(6,39,18,1,2.947,0.0,'[2.947]',NULL,1.7947702734213178158e+09);
INSERT INTO "argbest_observations" VALUES(6,41,19,1,1.696,0.0,'[1.696]',NULL,1.79477027342736649515e+09);
INSERT INTO "argbest_observations" VALUES(6,43,20,1,2.049,0.0,'[2.049]',NULL,1.79477027342870402333e+09);
CREATE TABLE argbest_passings (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	trial BIGINT NOT NULL, 
	worker TEXT NOT NULL, 
	time DOUBLE NOT NULL, 
	PRIMARY KEY (study, revision), 
	FOREIGN KEY(study, trial) REFERENCES argbest_trials (study, trial), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
CREATE TABLE argbest_readmissions (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	time DOUBLE NOT NULL, 
	PRIMARY KEY (study, revision), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
CREATE TABLE argbest_refits (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	n_records BIGINT NOT NULL, 
	n_observations BIGINT NOT NULL, 
	params TEXT, 
	PRIMARY KEY (study, revision), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
INSERT INTO "argbest_refits" VALUES(1,37,18,18,'{"trend_lengthscale":{"special":"array","dtype":"float64","shape":[1],"data":[0.36635418185557417]},"trend_scale":{"special":"array","dtype":"float64","shape":[],"data":[0.784138094177369]},"lengthscale":{"special":"array","dtype":"float64","shape":[1],"data":[0.33334413906592514]},"scale":{"special":"array","dtype":"float64","shape":[],"data":[9.69346852941177e-07]},"offset":{"special":"array","dtype":"float64","shape":[],"data":[0.1859938302488554]},"noise":{"special":"array","dtype":"float64","shape":[3,3],"data":[0.025333123224968095,0.025333123224968095,0.025333123224968095,0.025333123224968095,0.025333123224968095,0.025333123224968095,0.025333123224968095,0.025333123224968095,0.025333123224968095]},"constant":{"special":"array","dtype":"float64","shape":[],"data":[1.4449794391476927]},"theta":{"special":"array","dtype":"float64","shape":[6],"data":[-1.004154703522318,-0.21203735184202863,-1.0985798719957602,-13.815510557964274,-1.65090899475591,-3.644509739381304]},"shift":{"special":"array","dtype":"float64","shape":[],"data":[1.4471666666666667]},"spread":{"special":"array","dtype":"float64","shape":[],"data":[0.984554139162076]},"fitted":{"special":"array","dtype":"int64","shape":[3,3],"data":[2,2,2,2,2,2,2,2,2]},"searched":{"special":"array","dtype":"int64","shape":[],"data":[18]},"status":{"special":"array","dtype":"int64","shape":[],"data":[0]},"changed":{"special":"array","dtype":"bool","shape":[],"data":[true]}}');
INSERT INTO "argbest_refits" VALUES(2,37,18,18,'{"embedding":{"special":"array","dtype":"float64","shape":[3,0],"data":[]},"relation":{"special":"array","dtype":"float64","shape":[3,3],"data":[1.0,0.6044651366287553,0.2060256860990792,0.6044651366287553,1.0,0.6044651366287553,0.2060256860990792,0.6044651366287553,1.0]},"alternative_lengthscale":{"special":"array","dtype":"float64","shape":[1],"data":[0.578153312031798]},"lengthscale":{"special":"array","dtype":"float64","shape":[1],"data":[0.6100210984371413]},"scale":{"special":"array","dtype":"float64","shape":[],"data":[0.8150427068718152]},"noise":{"special":"array","dtype":"float64","shape":[3,3],"data":[0.035184829318171636,0.035184829318171636,0.035184829318171636,0.035184829318171636,0.035184829318171636,0.035184829318171636,0.035184829318171636,0.035184829318171636,0.035184829318171636]},"constant":{"special":"array","dtype":"float64","shape":[],"data":[1.1987965893389456]},"theta":{"special":"array","dtype":"float64","shape":[4],"data":[-0.5479161997514347,-0.4942617348110465,-0.17338198427618617,-3.3160074927898853]},"shift":{"special":"array","dtype":"float64","shape":[],"data":[1.4471666666666667]},"spread":{"special":"array","dtype":"float64","shape":[],"data":[0.984554139162076]},"fitted":{"special":"array","dtype":"int64","shape":[3,3],"data":[2,2,2,2,2,2,2,2,2]},"searched":{"special":"array","dtype":"int64","shape":[],"data":[18]},"status":{"special":"array","dtype":"int64","shape":[],"data":[0]},"changed":{"special":"array","dtype":"bool","shape":[],"data":[true]}}');
INSERT INTO "argbest_refits" VALUES(3,37,18,18,'{"lengthscale":{"special":"array","dtype":"float64","shape":[3,1],"data":[0.4742987452089047,0.4742987452089047,0.4742987452089047]},"scale":{"special":"array","dtype":"float64","shape":[3],"data":[1.0492741515244983,1.0492741515244983,1.0492741515244983]},"noise":{"special":"array","dtype":"float64","shape":[3,3],"data":[0.03630112263586119,0.03630112263586119,0.03630112263586119,0.03630112263586119,0.03630112263586119,0.03630112263586119,0.03630112263586119,0.03630112263586119,0.03630112263586119]},"constant":{"special":"array","dtype":"float64","shape":[3],"data":[1.0659852341059592,1.9513356749016966,1.3122514874948246]},"theta":{"special":"array","dtype":"float64","shape":[3,3],"data":[-0.7459178916662905,0.07923142262817529,-3.284773829813539,-0.7459178916662905,0.07923142262817529,-3.284773829813539,-0.7459178916662905,0.07923142262817529,-3.284773829813539]},"shift":{"special":"array","dtype":"float64","shape":[3],"data":[1.4471666666666667,1.4471666666666667,1.4471666666666667]},"spread":{"special":"array","dtype":"float64","shape":[3],"data":[0.984554139162076,0.984554139162076,0.984554139162076]},"fitted":{"special":"array","dtype":"int64","shape":[3],"data":[6,6,6]},"searched":{"special":"array","dtype":"int64","shape":[3],"data":[18,18,18]},"status":{"special":"array","dtype":"int64","shape":[3],"data":[0,0,0]},"changed":{"special":"array","dtype":"bool","shape":[3],"data":[true,true,true]}}');
INSERT INTO "argbest_refits" VALUES(4,37,18,18,'{"embedding":{"special":"array","dtype":"float64","shape":[3,1],"data":[0.7783496043014853,-0.358065703573305,0.4602361818946354]},"relation":{"special":"array","dtype":"float64","shape":[3,3],"data":[1.0,0.8509254861551099,0.9874300925052504,0.8509254861551099,1.0,0.9197047047522281,0.9874300925052504,0.9197047047522281,1.0]},"alternative_lengthscale":{"special":"array","dtype":"float64","shape":[1],"data":[1.9999953814148232]},"lengthscale":{"special":"array","dtype":"float64","shape":[1],"data":[0.6422277946525727]},"scale":{"special":"array","dtype":"float64","shape":[],"data":[1.1443708132193613]},"noise":{"special":"array","dtype":"float64","shape":[3,3],"data":[0.027508886143569024,0.027508886143569024,0.027508886143569024,0.027508886143569024,0.027508886143569024,0.027508886143569024,0.027508886143569024,0.027508886143569024,0.027508886143569024]},"constant":{"special":"array","dtype":"float64","shape":[],"data":[1.5026329277235089]},"theta":{"special":"array","dtype":"float64","shape":[7],"data":[0.7783496043014853,-0.358065703573305,0.4602361818946354,0.6931448712646905,-0.442812217894913,0.16598775963419468,-3.5621134122439884]},"shift":{"special":"array","dtype":"float64","shape":[],"data":[1.4471666666666667]},"spread":{"special":"array","dtype":"float64","shape":[],"data":[0.984554139162076]},"fitted":{"special":"array","dtype":"int64","shape":[3,3],"data":[2,2,2,2,2,2,2,2,2]},"searched":{"special":"array","dtype":"int64","shape":[],"data":[18]},"status":{"special":"array","dtype":"int64","shape":[],"data":[0]},"changed":{"special":"array","dtype":"bool","shape":[],"data":[true]}}');
INSERT INTO "argbest_refits" VALUES(5,37,18,18,'{"lengthscale":{"special":"array","dtype":"float64","shape":[3,1],"data":[0.3925910801128118,0.3930009556657901,0.39437925690007447]},"scale":{"special":"array","dtype":"float64","shape":[3],"data":[1.5945694998234123,1.5772008889689833,1.639447935732984]},"noise":{"special":"array","dtype":"float64","shape":[3,3],"data":[0.048646066727367925,0.05033225622596677,0.04640221922277196,0.044472823376735436,0.04173235709877923,0.04357152881671194,0.020766315519913828,0.020191246555686024,0.019512626983998787]},"constant":{"special":"array","dtype":"float64","shape":[3],"data":[1.06748278326466,1.9521084483653999,1.3146966960136741]},"theta":{"special":"array","dtype":"float64","shape":[3,3],"data":[-0.9349867174365665,0.5378250032707088,-2.95579162469675,-0.9339432353962648,0.5390239840468254,-3.057179917437445,-0.9304422517035214,0.5496080348427637,-3.848968592637159]},"shift":{"special":"array","dtype":"float64","shape":[3],"data":[1.0693333333333335,1.9531666666666667,1.3190000000000002]},"spread":{"special":"array","dtype":"float64","shape":[3],"data":[0.9650159929590113,0.9591707703358493,0.9727538229171862]},"fitted":{"special":"array","dtype":"int64","shape":[3],"data":[6,6,6]},"searched":{"special":"array","dtype":"int64","shape":[3],"data":[6,6,6]},"status":{"special":"array","dtype":"int64","shape":[3],"data":[0,0,0]},"changed":{"special":"array","dtype":"bool","shape":[3],"data":[true,true,true]}}');
INSERT INTO "argbest_refits" VALUES(6,37,18,18,'{"lengthscale":{"special":"array","dtype":"float64","shape":[3,1],"data":[0.3925783151094115,0.39290527281256654,0.3943528403789956]},"scale":{"special":"array","dtype":"float64","shape":[3],"data":[1.5939010694009335,1.5778755329694216,1.6394751319627265]},"noise":{"special":"array","dtype":"float64","shape":[3,3],"data":[0.04944259762240466,0.04944259762240466,0.04944259762240466,0.04396476027380634,0.04396476027380634,0.04396476027380634,0.020522916861076317,0.020522916861076317,0.020522916861076317]},"constant":{"special":"array","dtype":"float64","shape":[3],"data":[1.0671754466794836,1.9519805819836094,1.3145226859640096]},"theta":{"special":"array","dtype":"float64","shape":[3,3],"data":[-0.9350192327217499,0.5374057236080876,-2.9357217167747587,-0.934186732267085,0.5394516402557397,-3.040994571437763,-0.9305092364786558,0.549624623356237,-3.8309646473251084]},"shift":{"special":"array","dtype":"float64","shape":[3],"data":[1.0693333333333335,1.9531666666666667,1.3190000000000002]},"spread":{"special":"array","dtype":"float64","shape":[3],"data":[0.9650159929590113,0.9591707703358493,0.9727538229171862]},"fitted":{"special":"array","dtype":"int64","shape":[3],"data":[6,6,6]},"searched":{"special":"array","dtype":"int64","shape":[3],"data":[6,6,6]},"status":{"special":"array","dtype":"int64","shape":[3],"data":[0,0,0]},"changed":{"special":"array","dtype":"bool","shape":[3],"data":[true,true,true]}}');
CREATE TABLE argbest_studies (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	schema_version INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	definition TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "argbest_studies" VALUES(1,'shared-gp',1,43,'{"id":"12b393541eff413194e4a692115eda3b","problem":{"name":"problem","description":"","reward":"reward","goal":"max","alternatives":{"labels":[0.0,0.5,1.0],"columns":{"size":[0.0,0.5,1.0]},"named":false},"contexts":{"labels":[0.0,0.5,1.0],"columns":{},"named":true},"weights":[0.3333333333333333,0.3333333333333333,0.3333333333333333],"bounds":{"context":[0.0,1.0]},"truth":null,"truth_se":null,"noise_sd":null},"simulator":null,"policy":{"class":"GPCOCBA","options":{}},"model":{"class":"SharedGP","options":{"kernel":"matern52","noise":"pooled","noise_sd":null}},"initial":[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2],[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2]],"seed":1,"refit_every":10,"common_random_numbers":false,"cost":null,"plan":{}}',1.79477018305168509485e+09);
INSERT INTO "argbest_studies" VALUES(2,'joint-gp',1,43,'{"id":"37ae46a97892403f9f3e0833b17afa63","problem":{"name":"problem","description":"","reward":"reward","goal":"max","alternatives":{"labels":[0.0,0.5,1.0],"columns":{"size":[0.0,0.5,1.0]},"named":false},"contexts":{"labels":[0.0,0.5,1.0],"columns":{},"named":true},"weights":[0.3333333333333333,0.3333333333333333,0.3333333333333333],"bounds":{"context":[0.0,1.0]},"truth":null,"truth_se":null,"noise_sd":null},"simulator":null,"policy":{"class":"GPCOCBA","options":{}},"model":{"class":"JointGP","options":{"kernel":"matern52","noise":"pooled","noise_sd":null}},"initial":[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2],[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2]],"seed":1,"refit_every":10,"common_random_numbers":false,"cost":null,"plan":{}}',1.79477021960973072054e+09);
INSERT INTO "argbest_studies" VALUES(3,'pooled-gp',1,43,'{"id":"4e2062c5b6644da0b9c158298eaac559","problem":{"name":"problem","description":"","reward":"reward","goal":"max","alternatives":{"labels":[0.0,0.5,1.0],"columns":{"size":[0.0,0.5,1.0]},"named":false},"contexts":{"labels":[0.0,0.5,1.0],"columns":{},"named":true},"weights":[0.3333333333333333,0.3333333333333333,0.3333333333333333],"bounds":{"context":[0.0,1.0]},"truth":null,"truth_se":null,"noise_sd":null},"simulator":null,"policy":{"class":"GPCOCBA","options":{}},"model":{"class":"GP","options":{"kernel":"matern52","prior":"paper","pooled":{"special":"tuple","items":["lengthscale","scale"]},"noise":"pooled","noise_sd":null}},"initial":[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2],[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2]],"seed":1,"refit_every":10,"common_random_numbers":false,"cost":null,"plan":{}}',1.79477024825912809366e+09);
INSERT INTO "argbest_studies" VALUES(4,'latent-gp',1,43,'{"id":"476b128e31d84cd5baa1fe8c6167d3a7","problem":{"name":"problem","description":"","reward":"reward","goal":"max","alternatives":{"labels":[0.0,0.5,1.0],"columns":{"size":[0.0,0.5,1.0]},"named":false},"contexts":{"labels":[0.0,0.5,1.0],"columns":{},"named":true},"weights":[0.3333333333333333,0.3333333333333333,0.3333333333333333],"bounds":{"context":[0.0,1.0]},"truth":null,"truth_se":null,"noise_sd":null},"simulator":null,"policy":{"class":"GPCOCBA","options":{}},"model":{"class":"LatentGP","options":{"kernel":"matern52","dimensions":1,"restarts":8,"noise":"pooled","noise_sd":null}},"initial":[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2],[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2]],"seed":1,"refit_every":10,"common_random_numbers":false,"cost":null,"plan":{}}',1.79477026245645403862e+09);
INSERT INTO "argbest_studies" VALUES(5,'gp-pair-noise',1,43,'{"id":"cb3f1ec7d74b4efb8d4b71ad356d6c8a","problem":{"name":"problem","description":"","reward":"reward","goal":"max","alternatives":{"labels":[0.0,0.5,1.0],"columns":{"size":[0.0,0.5,1.0]},"named":false},"contexts":{"labels":[0.0,0.5,1.0],"columns":{},"named":true},"weights":[0.3333333333333333,0.3333333333333333,0.3333333333333333],"bounds":{"context":[0.0,1.0]},"truth":null,"truth_se":null,"noise_sd":null},"simulator":null,"policy":{"class":"GPCOCBA","options":{}},"model":{"class":"GP","options":{"kernel":"matern52","prior":"paper","pooled":{"special":"tuple","items":[]},"noise":"pair","noise_sd":null}},"initial":[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2],[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2]],"seed":1,"refit_every":10,"common_random_numbers":false,"cost":null,"plan":{}}',1.79477026251437568669e+09);
INSERT INTO "argbest_studies" VALUES(6,'gp',1,43,'{"id":"5023bd14c9a4416f9d88ada6067ff14f","problem":{"name":"problem","description":"","reward":"reward","goal":"max","alternatives":{"labels":[0.0,0.5,1.0],"columns":{"size":[0.0,0.5,1.0]},"named":false},"contexts":{"labels":[0.0,0.5,1.0],"columns":{},"named":true},"weights":[0.3333333333333333,0.3333333333333333,0.3333333333333333],"bounds":{"context":[0.0,1.0]},"truth":null,"truth_se":null,"noise_sd":null},"simulator":null,"policy":{"class":"GPCOCBA","options":{}},"model":{"class":"GP","options":{"kernel":"matern52","prior":"paper","pooled":{"special":"tuple","items":[]},"noise":"alternative","noise_sd":null}},"initial":[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2],[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1],[2,2]],"seed":1,"refit_every":10,"common_random_numbers":false,"cost":null,"plan":{}}',1.79477027337097692493e+09);
CREATE TABLE argbest_trials (
	study INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	trial BIGINT NOT NULL, 
	alternative BIGINT NOT NULL, 
	context BIGINT NOT NULL, 
	replication BIGINT NOT NULL, 
	seed BIGINT NOT NULL, 
	designed BOOLEAN NOT NULL, 
	worker TEXT NOT NULL, 
	time DOUBLE NOT NULL, 
	PRIMARY KEY (study, revision), 
	UNIQUE (study, trial), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
)
 WITHOUT ROWID

;
INSERT INTO "argbest_trials" VALUES(1,1,0,0,0,0,386731413,1,'by hand',1.79477018306362080574e+09);
INSERT INTO "argbest_trials" VALUES(1,3,1,0,1,0,2062135350,1,'by hand',1.79477018306819963459e+09);
INSERT INTO "argbest_trials" VALUES(1,5,2,0,2,0,848307371,1,'by hand',1.79477018306935191156e+09);
INSERT INTO "argbest_trials" VALUES(1,7,3,1,0,0,834698297,1,'by hand',1.79477018307481503488e+09);
INSERT INTO "argbest_trials" VALUES(1,9,4,1,1,0,44107521,1,'by hand',1.79477018307613778117e+09);
INSERT INTO "argbest_trials" VALUES(1,11,5,1,2,0,77415810,1,'by hand',1.79477018307709765441e+09);
INSERT INTO "argbest_trials" VALUES(1,13,6,2,0,0,1122750150,1,'by hand',1.79477018307809424403e+09);
INSERT INTO "argbest_trials" VALUES(1,15,7,2,1,0,1462146898,1,'by hand',1.79477018307908606524e+09);
INSERT INTO "argbest_trials" VALUES(1,17,8,2,2,0,87338080,1,'by hand',1.79477018308014321331e+09);
INSERT INTO "argbest_trials" VALUES(1,19,9,0,0,1,1184798108,1,'by hand',1.7947701830852198601e+09);
INSERT INTO "argbest_trials" VALUES(1,21,10,0,1,1,199848411,1,'by hand',1.79477018309250831605e+09);
INSERT INTO "argbest_trials" VALUES(1,23,11,0,2,1,32469564,1,'by hand',1.79477018309553265577e+09);
INSERT INTO "argbest_trials" VALUES(1,25,12,1,0,1,646033840,1,'by hand',1.79477018309767556193e+09);
INSERT INTO "argbest_trials" VALUES(1,27,13,1,1,1,1049885939,1,'by hand',1.79477018309957933421e+09);
INSERT INTO "argbest_trials" VALUES(1,29,14,1,2,1,1161838357,1,'by hand',1.79477018310069346427e+09);
INSERT INTO "argbest_trials" VALUES(1,31,15,2,0,1,201414229,1,'by hand',1.79477018310175204275e+09);
INSERT INTO "argbest_trials" VALUES(1,33,16,2,1,1,1639123551,1,'by hand',1.79477018310801219938e+09);
INSERT INTO "argbest_trials" VALUES(1,35,17,2,2,1,806426438,1,'by hand',1.79477018310953974726e+09);
INSERT INTO "argbest_trials" VALUES(1,38,18,1,2,2,1759176856,0,'by hand',1.79477021955436134336e+09);
INSERT INTO "argbest_trials" VALUES(1,40,19,1,0,2,422050643,0,'by hand',1.79477021956072068211e+09);
INSERT INTO "argbest_trials" VALUES(1,42,20,1,2,3,828211943,0,'by hand',1.79477021956706571576e+09);
INSERT INTO "argbest_trials" VALUES(2,1,0,0,0,0,386731413,1,'by hand',1.79477021962110519408e+09);
INSERT INTO "argbest_trials" VALUES(2,3,1,0,1,0,2062135350,1,'by hand',1.79477021962571048731e+09);
INSERT INTO "argbest_trials" VALUES(2,5,2,0,2,0,848307371,1,'by hand',1.7947702196277184486e+09);
INSERT INTO "argbest_trials" VALUES(2,7,3,1,0,0,834698297,1,'by hand',1.79477021962910556797e+09);
INSERT INTO "argbest_trials" VALUES(2,9,4,1,1,0,44107521,1,'by hand',1.79477021963477230068e+09);
INSERT INTO "argbest_trials" VALUES(2,11,5,1,2,0,77415810,1,'by hand',1794770219.63637);
INSERT INTO "argbest_trials" VALUES(2,13,6,2,0,0,1122750150,1,'by hand',1.7947702196377580166e+09);
INSERT INTO "argbest_trials" VALUES(2,15,7,2,1,0,1462146898,1,'by hand',1.79477021964385199549e+09);
INSERT INTO "argbest_trials" VALUES(2,17,8,2,2,0,87338080,1,'by hand',1.79477021964527559284e+09);
INSERT INTO "argbest_trials" VALUES(2,19,9,0,0,1,1184798108,1,'by hand',1.79477021964667129514e+09);
INSERT INTO "argbest_trials" VALUES(2,21,10,0,1,1,199848411,1,'by hand',1.79477021964788579933e+09);
INSERT INTO "argbest_trials" VALUES(2,23,11,0,2,1,32469564,1,'by hand',1.79477021964894652367e+09);
INSERT INTO "argbest_trials" VALUES(2,25,12,1,0,1,646033840,1,'by hand',1.79477021965001320839e+09);
INSERT INTO "argbest_trials" VALUES(2,27,13,1,1,1,1049885939,1,'by hand',1.79477021965105724334e+09);
INSERT INTO "argbest_trials" VALUES(2,29,14,1,2,1,1161838357,1,'by hand',1.794770219652074337e+09);
INSERT INTO "argbest_trials" VALUES(2,31,15,2,0,1,201414229,1,'by hand',1.79477021965305042266e+09);
INSERT INTO "argbest_trials" VALUES(2,33,16,2,1,1,1639123551,1,'by hand',1.79477021965391921997e+09);
INSERT INTO "argbest_trials" VALUES(2,35,17,2,2,1,806426438,1,'by hand',1.79477021965988612177e+09);
INSERT INTO "argbest_trials" VALUES(2,38,18,1,0,2,422050643,0,'by hand',1.79477024823950028417e+09);
INSERT INTO "argbest_trials" VALUES(2,40,19,1,2,2,1759176856,0,'by hand',1.79477024824368047717e+09);
INSERT INTO "argbest_trials" VALUES(2,42,20,2,2,2,1600538341,0,'by hand',1.79477024824543237692e+09);
INSERT INTO "argbest_trials" VALUES(3,1,0,0,0,0,386731413,1,'by hand',1.7947702482625522613e+09);
INSERT INTO "argbest_trials" VALUES(3,3,1,0,1,0,2062135350,1,'by hand',1.79477024826629447933e+09);
INSERT INTO "argbest_trials" VALUES(3,5,2,0,2,0,848307371,1,'by hand',1.79477024826764583586e+09);
INSERT INTO "argbest_trials" VALUES(3,7,3,1,0,0,834698297,1,'by hand',1.79477024826882863048e+09);
INSERT INTO "argbest_trials" VALUES(3,9,4,1,1,0,44107521,1,'by hand',1.794770248270062685e+09);
INSERT INTO "argbest_trials" VALUES(3,11,5,1,2,0,77415810,1,'by hand',1.7947702482713038921e+09);
INSERT INTO "argbest_trials" VALUES(3,13,6,2,0,0,1122750150,1,'by hand',1.79477024827252483367e+09);
INSERT INTO "argbest_trials" VALUES(3,15,7,2,1,0,1462146898,1,'by hand',1.79477024827363562586e+09);
INSERT INTO "argbest_trials" VALUES(3,17,8,2,2,0,87338080,1,'by hand',1.79477024827489423748e+09);
INSERT INTO "argbest_trials" VALUES(3,19,9,0,0,1,1184798108,1,'by hand',1.79477024827635502817e+09);
INSERT INTO "argbest_trials" VALUES(3,21,10,0,1,1,199848411,1,'by hand',1.79477024827807092664e+09);
INSERT INTO "argbest_trials" VALUES(3,23,11,0,2,1,32469564,1,'by hand',1.79477024827978229523e+09);
INSERT INTO "argbest_trials" VALUES(3,25,12,1,0,1,646033840,1,'by hand',1.79477024828127336509e+09);
INSERT INTO "argbest_trials" VALUES(3,27,13,1,1,1,1049885939,1,'by hand',1.79477024828252267833e+09);
INSERT INTO "argbest_trials" VALUES(3,29,14,1,2,1,1161838357,1,'by hand',1.79477024828477787965e+09);
INSERT INTO "argbest_trials" VALUES(3,31,15,2,0,1,201414229,1,'by hand',1.79477024828687310221e+09);
INSERT INTO "argbest_trials" VALUES(3,33,16,2,1,1,1639123551,1,'by hand',1.7947702482891366482e+09);
INSERT INTO "argbest_trials" VALUES(3,35,17,2,2,1,806426438,1,'by hand',1.79477024829143881794e+09);
INSERT INTO "argbest_trials" VALUES(3,38,18,1,2,2,1759176856,0,'by hand',1.79477026242847776411e+09);
INSERT INTO "argbest_trials" VALUES(3,40,19,1,1,2,1851830912,0,'by hand',1.79477026243191957475e+09);
INSERT INTO "argbest_trials" VALUES(3,42,20,2,1,2,258085744,0,'by hand',1.79477026243341517453e+09);
INSERT INTO "argbest_trials" VALUES(4,1,0,0,0,0,386731413,1,'by hand',1.79477026246627235405e+09);
INSERT INTO "argbest_trials" VALUES(4,3,1,0,1,0,2062135350,1,'by hand',1.79477026247275424008e+09);
INSERT INTO "argbest_trials" VALUES(4,5,2,0,2,0,848307371,1,'by hand',1.79477026247452020645e+09);
INSERT INTO "argbest_trials" VALUES(4,7,3,1,0,0,834698297,1,'by hand',1.79477026247670602794e+09);
INSERT INTO "argbest_trials" VALUES(4,9,4,1,1,0,44107521,1,'by hand',1.79477026247816419599e+09);
INSERT INTO "argbest_trials" VALUES(4,11,5,1,2,0,77415810,1,'by hand',1.79477026247896766664e+09);
INSERT INTO "argbest_trials" VALUES(4,13,6,2,0,0,1122750150,1,'by hand',1.79477026247959828373e+09);
INSERT INTO "argbest_trials" VALUES(4,15,7,2,1,0,1462146898,1,'by hand',1.79477026248040175439e+09);
INSERT INTO "argbest_trials" VALUES(4,17,8,2,2,0,87338080,1,'by hand',1.79477026248191618915e+09);
INSERT INTO "argbest_trials" VALUES(4,19,9,0,0,1,1184798108,1,'by hand',1.79477026248270034791e+09);
INSERT INTO "argbest_trials" VALUES(4,21,10,0,1,1,199848411,1,'by hand',1.79477026248342227932e+09);
INSERT INTO "argbest_trials" VALUES(4,23,11,0,2,1,32469564,1,'by hand',1.79477026248413586619e+09);
INSERT INTO "argbest_trials" VALUES(4,25,12,1,0,1,646033840,1,'by hand',1.79477026248472094536e+09);
INSERT INTO "argbest_trials" VALUES(4,27,13,1,1,1,1049885939,1,'by hand',1.79477026248544025421e+09);
INSERT INTO "argbest_trials" VALUES(4,29,14,1,2,1,1161838357,1,'by hand',1.79477026248610353471e+09);
INSERT INTO "argbest_trials" VALUES(4,31,15,2,0,1,201414229,1,'by hand',1.79477026248672604565e+09);
INSERT INTO "argbest_trials" VALUES(4,33,16,2,1,1,1639123551,1,'by hand',1.7947702624873781204e+09);
INSERT INTO "argbest_trials" VALUES(4,35,17,2,2,1,806426438,1,'by hand',1.79477026248807168011e+09);
INSERT INTO "argbest_trials" VALUES(4,38,18,1,2,2,1759176856,0,'by hand',1.79477026249203610412e+09);
INSERT INTO "argbest_trials" VALUES(4,40,19,1,2,3,828211943,0,'by hand',1.79477026249476933478e+09);
INSERT INTO "argbest_trials" VALUES(4,42,20,1,0,2,422050643,0,'by hand',1.79477026249579477311e+09);
INSERT INTO "argbest_trials" VALUES(5,1,0,0,0,0,386731413,1,'by hand',1.79477026252372860908e+09);
INSERT INTO "argbest_trials" VALUES(5,3,1,0,1,0,2062135350,1,'by hand',1.79477026252636909483e+09);
INSERT INTO "argbest_trials" VALUES(5,5,2,0,2,0,848307371,1,'by hand',1.79477026252708435054e+09);
INSERT INTO "argbest_trials" VALUES(5,7,3,1,0,0,834698297,1,'by hand',1.79477026252768921852e+09);
INSERT INTO "argbest_trials" VALUES(5,9,4,1,1,0,44107521,1,'by hand',1.79477026252830386158e+09);
INSERT INTO "argbest_trials" VALUES(5,11,5,1,2,0,77415810,1,'by hand',1.79477026252889847752e+09);
INSERT INTO "argbest_trials" VALUES(5,13,6,2,0,0,1122750150,1,'by hand',1.7947702625294828415e+09);
INSERT INTO "argbest_trials" VALUES(5,15,7,2,1,0,1462146898,1,'by hand',1.79477026253013229365e+09);
INSERT INTO "argbest_trials" VALUES(5,17,8,2,2,0,87338080,1,'by hand',1.79477026253070521353e+09);
INSERT INTO "argbest_trials" VALUES(5,19,9,0,0,1,1184798108,1,'by hand',1.7947702625313053131e+09);
INSERT INTO "argbest_trials" VALUES(5,21,10,0,1,1,199848411,1,'by hand',1.79477026253191065787e+09);
INSERT INTO "argbest_trials" VALUES(5,23,11,0,2,1,32469564,1,'by hand',1.79477026253247404097e+09);
INSERT INTO "argbest_trials" VALUES(5,25,12,1,0,1,646033840,1,'by hand',1.79477026253305935862e+09);
INSERT INTO "argbest_trials" VALUES(5,27,13,1,1,1,1049885939,1,'by hand',1.79477026253366374972e+09);
INSERT INTO "argbest_trials" VALUES(5,29,14,1,2,1,1161838357,1,'by hand',1.79477026253431749345e+09);
INSERT INTO "argbest_trials" VALUES(5,31,15,2,0,1,201414229,1,'by hand',1.79477026253500866886e+09);
INSERT INTO "argbest_trials" VALUES(5,33,16,2,1,1,1639123551,1,'by hand',1.79477026253566336634e+09);
INSERT INTO "argbest_trials" VALUES(5,35,17,2,2,1,806426438,1,'by hand',1794770262.5363);
INSERT INTO "argbest_trials" VALUES(5,38,18,1,2,2,1759176856,0,'by hand',1.79477027333583307269e+09);
INSERT INTO "argbest_trials" VALUES(5,40,19,1,1,2,1851830912,0,'by hand',1.79477027334333825115e+09);
INSERT INTO "argbest_trials" VALUES(5,42,20,1,1,3,1480835903,0,'by hand',1.79477027334509587285e+09);
INSERT INTO "argbest_trials" VALUES(6,1,0,0,0,0,386731413,1,'by hand',1.79477027337434148789e+09);
INSERT INTO "argbest_trials" VALUES(6,3,1,0,1,0,2062135350,1,'by hand',1.79477027337735080712e+09);
INSERT INTO "argbest_trials" VALUES(6,5,2,0,2,0,848307371,1,'by hand',1.79477027338300776479e+09);
INSERT INTO "argbest_trials" VALUES(6,7,3,1,0,0,834698297,1,'by hand',1.79477027338448548313e+09);
INSERT INTO "argbest_trials" VALUES(6,9,4,1,1,0,44107521,1,'by hand',1.79477027339479494093e+09);
INSERT INTO "argbest_trials" VALUES(6,11,5,1,2,0,77415810,1,'by hand',1.79477027339635276798e+09);
INSERT INTO "argbest_trials" VALUES(6,13,6,2,0,0,1122750150,1,'by hand',1.794770273397354126e+09);
INSERT INTO "argbest_trials" VALUES(6,15,7,2,1,0,1462146898,1,'by hand',1.79477027340056037897e+09);
INSERT INTO "argbest_trials" VALUES(6,17,8,2,2,0,87338080,1,'by hand',1.79477027340169048314e+09);
INSERT INTO "argbest_trials" VALUES(6,19,9,0,0,1,1184798108,1,'by hand',1.79477027340712499622e+09);
INSERT INTO "argbest_trials" VALUES(6,21,10,0,1,1,199848411,1,'by hand',1.79477027340804576871e+09);
INSERT INTO "argbest_trials" VALUES(6,23,11,0,2,1,32469564,1,'by hand',1.79477027340871715544e+09);
INSERT INTO "argbest_trials" VALUES(6,25,12,1,0,1,646033840,1,'by hand',1.79477027340932488441e+09);
INSERT INTO "argbest_trials" VALUES(6,27,13,1,1,1,1049885939,1,'by hand',1.79477027341009449956e+09);
INSERT INTO "argbest_trials" VALUES(6,29,14,1,2,1,1161838357,1,'by hand',1.7947702734108471871e+09);
INSERT INTO "argbest_trials" VALUES(6,31,15,2,0,1,201414229,1,'by hand',1.79477027341143631931e+09);
INSERT INTO "argbest_trials" VALUES(6,33,16,2,1,1,1639123551,1,'by hand',1.79477027341205430024e+09);
INSERT INTO "argbest_trials" VALUES(6,35,17,2,2,1,806426438,1,'by hand',1.79477027341268205646e+09);
INSERT INTO "argbest_trials" VALUES(6,38,18,1,2,2,1759176856,0,'by hand',1.79477027341962361338e+09);
INSERT INTO "argbest_trials" VALUES(6,40,19,1,1,2,1851830912,0,'by hand',1.7947702734269421101e+09);
INSERT INTO "argbest_trials" VALUES(6,42,20,1,1,3,1480835903,0,'by hand',1.7947702734283752441e+09);
CREATE TABLE argbest_workers (
	study INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	host TEXT NOT NULL, 
	process BIGINT NOT NULL, 
	started DOUBLE NOT NULL, 
	seen DOUBLE NOT NULL, 
	slots BIGINT NOT NULL, 
	busy DOUBLE NOT NULL, 
	PRIMARY KEY (study, name), 
	FOREIGN KEY(study) REFERENCES argbest_studies (id)
);
COMMIT;
